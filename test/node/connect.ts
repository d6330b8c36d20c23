// The steps of the story that follow docs/connect.md: two Deployments connect to a real database and survive a rotation.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import { nodeAddress } from "../../tools/node/node-files.ts";
import { waitUntil } from "../support/wait-until.ts";
import { connectSection } from "./pages.ts";
import { applicationImage, type Step, type World } from "./world.ts";

const inShop = ["-n", "shop"] as const;
/** The answers that both applications must give. */
const connected = { role: "orders_app", database: "orders" };
/** The kubelet renews a mounted Secret after a minute or two. */
const mountRenewalMs = 150_000;

interface Binding {
  readonly host: string;
  readonly password: string;
  readonly resourceVersion: string;
}

async function binding({ kubectl }: World): Promise<Binding> {
  const secret = await kubectl.getJson<{
    metadata: { resourceVersion: string };
    data: { host: string; password: string };
  }>([...inShop, "get", "secret", "orders-db"]);
  const text = (encoded: string) => Buffer.from(encoded, "base64").toString();
  const { host, password } = secret.data;
  return { host: text(host), password: text(password), resourceVersion: secret.metadata.resourceVersion };
}

/** Saves the manifest of a section, then runs its commands. @param edit changes the manifest's text */
async function follow(world: World, title: string, edit = async (text: string) => text): Promise<void> {
  const { manifest, commands } = await connectSection(title);
  const folder = world.input.current;
  if (manifest !== undefined) await writeFile(path.join(folder, manifest.file), await edit(manifest.text));
  for (const command of commands) await world.shell(command, folder);
}

/**
 * Replaces IMAGE by the image. The node has no DNS server, so the manifest also gets the address for the database's
 * host name.
 */
async function runnable(world: World, text: string): Promise<string> {
  const deployment = parse(text.replace("IMAGE", applicationImage));
  deployment.spec.template.spec.hostAliases = [{ ip: nodeAddress, hostnames: [(await binding(world)).host] }];
  return JSON.stringify(deployment);
}

/** The pod of a Deployment. */
interface ApplicationPod {
  readonly name: string;
  readonly ip: string;
}

async function podOf({ kubectl }: World, app: string): Promise<ApplicationPod> {
  const { items } = await kubectl.getJson<{
    items: readonly { metadata: { name: string; deletionTimestamp?: string }; status: { podIP?: string } }[];
  }>([...inShop, "get", "pods", `--selector=app=${app}`]);
  const [pod, ...more] = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  assert.ok(pod?.status.podIP, `${app} has a pod with an address`);
  assert.equal(more.length, 0);
  return { name: pod.metadata.name, ip: pod.status.podIP };
}

/** Makes the application connect, and returns its answer. */
async function answerOf({ ip }: ApplicationPod): Promise<Readonly<Record<string, string>>> {
  const answer = await fetch(`http://${ip}:8080/`, { signal: AbortSignal.timeout(20_000) });
  return (await answer.json()) as Readonly<Record<string, string>>;
}

/** Waits for the first answer. A pod without a readiness probe is Ready before its program listens. */
async function untilConnected(world: World, app: string): Promise<ApplicationPod> {
  const pod = await podOf(world, app);
  let last: unknown;
  await waitUntil(
    async () => {
      last = await answerOf(pod).catch((error: Error) => error.message);
      return JSON.stringify(last) === JSON.stringify(connected) ? true : undefined;
    },
    { what: `${app} connects`, lastSeen: () => JSON.stringify(last) },
  );
  return pod;
}

const pageFollowed: Step = {
  name: "docs/connect.md from its first command → a Deployment with envFrom and one with a mounted directory connect",
  run: async (world) => {
    for (const title of ["An endpoint", "Once for each namespace", "The access"]) await follow(world, title);
    for (const title of ["As environment variables", "As a directory"])
      await follow(world, title, (text) => runnable(world, text));
    await untilConnected(world, "orders");
    await untilConnected(world, "orders-mounted");
  },
};

const rotated: Step = {
  name: "the password is rotated → the same pod connects with the mounted Secret's new one; the other is refused until it restarts",
  run: async (world) => {
    const [environment, mounted] = [await podOf(world, "orders"), await podOf(world, "orders-mounted")];
    const before = await binding(world);
    const { commands } = await connectSection("Rotate the password");
    const [rotate = "", restart = "", ...more] = commands;
    assert.match(restart, /rollout restart/);
    assert.deepEqual(more, []);
    await world.shell(rotate, world.input.current);
    const after = await waitUntil(
      async () => {
        const now = await binding(world);
        return now.password === before.password ? undefined : now;
      },
      { what: "the Secret has another password" },
    );
    // PostgreSQL has the new password when apply_config has ended. Until then it takes the old one.
    await waitUntil(async () => (await answerOf(environment)).code === "28P01" || undefined, {
      what: "the old password is refused",
    });
    await waitUntil(async () => ((await answerOf(mounted)).role === connected.role ? true : undefined), {
      what: "the mounted password is the new one",
      timeoutMs: mountRenewalMs,
    });
    assert.deepEqual(await podOf(world, "orders-mounted"), mounted);
    await world.shell(restart, world.input.current);
    await world.kubectl.run([...inShop, "rollout", "status", "deployment/orders", "--timeout=60s"]);
    await untilGone(world, environment);
    await untilConnected(world, "orders");
    assert.equal((await binding(world)).resourceVersion, after.resourceVersion);
  },
};

async function untilGone({ kubectl }: World, { name }: ApplicationPod): Promise<void> {
  await kubectl.run([...inShop, "wait", "--for=delete", `pod/${name}`, "--timeout=60s"]);
}

const removed: Step = {
  name: "the DatabaseAccess is deleted as the page says → its Secret goes; a mounted pod runs on",
  run: async (world) => {
    await follow(world, "Delete it");
    const secrets = await world.kubectl.getJson<{ items: readonly { metadata: { name: string } }[] }>([
      ...[...inShop, "get", "secrets"],
    ]);
    assert.deepEqual(
      secrets.items.map(({ metadata }) => metadata.name).filter((name) => name === "orders-db"),
      [],
    );
    await podOf(world, "orders-mounted");
  },
};

/** Follows docs/connect.md from its first command to its last. */
export const connectSteps: readonly Step[] = [pageFollowed, rotated, removed];
