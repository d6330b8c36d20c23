/** Tests where a binary comes from, and the message of each failure. */
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { assetTable, requiredGoVersion } from "../../../tools/assets/asset-table.ts";
import { findAsset, type ResolveOptions, resolveAssets } from "../../../tools/assets/resolve-assets.ts";
import {
  type AssetHome,
  builds,
  cachedFiles,
  createAssetHome,
  digestOf,
  installFakeGo,
  linux,
  startDownloadServer,
  tarOf,
  writeScript,
} from "./asset-fixture.ts";

const cachedEtcd = "linux-amd64/etcd-v3.6.16/etcd";
const cachedKubectl = "linux-amd64/kubectl-v1.35.4/kubectl";
const kubectlPath = "/k8s/v1.35.4/bin/linux/amd64/kubectl";
const binary = "#!/bin/sh\necho downloaded\n";

/** Returns the options for a home without downloads, so that a build is tried next. */
function offline(home: AssetHome, more: ResolveOptions = {}): ResolveOptions {
  return { env: home.env, platform: linux, download: false, ...more };
}

describe("where a binary comes from", () => {
  it("KUBEBUILDER_ASSETS holds it → that one, whatever is cached", async () => {
    const home = await createAssetHome();
    const given = path.join(home.directory, "given");
    await writeScript(path.join(given, "etcd"), "");
    await writeScript(path.join(home.cache, cachedEtcd), "");
    const paths = await resolveAssets(["etcd"], offline(home, { env: { ...home.env, KUBEBUILDER_ASSETS: given } }));
    expect(paths).toEqual({ etcd: path.join(given, "etcd") });
  });

  it("KUBEBUILDER_ASSETS lacks it → the cache", async () => {
    const home = await createAssetHome();
    await writeScript(path.join(home.cache, cachedEtcd), "");
    const env = { ...home.env, KUBEBUILDER_ASSETS: home.bin };
    expect(await resolveAssets(["etcd"], offline(home, { env }))).toEqual({ etcd: path.join(home.cache, cachedEtcd) });
  });

  it("KUBEBUILDER_ASSETS is no directory → an error that names it, nothing is made", async () => {
    const home = await createAssetHome();
    await installFakeGo(home);
    const env = { ...home.env, KUBEBUILDER_ASSETS: "/does/not/exist" };
    await expect(resolveAssets(["etcd"], offline(home, { env }))).rejects.toMatchObject({
      reason: "BadSetting",
      message: expect.stringContaining("/does/not/exist"),
    });
    expect(await builds(home)).toEqual([]);
  });

  it("a system package will do, one is on the PATH → that one, by any of its names; nothing is made", async () => {
    const home = await createAssetHome();
    await installFakeGo(home);
    const env = { ...home.env, PATH: home.bin };
    await writeScript(path.join(home.bin, "prometheus-alertmanager"), "");
    await writeScript(path.join(home.bin, "etcd"), "");
    const debian = path.join(home.bin, "prometheus-alertmanager");
    expect(await resolveAssets(["alertmanager"], offline(home, { env }))).toEqual({ alertmanager: debian });
    expect(await findAsset("alertmanager", { env, platform: linux })).toBe(debian);
    expect(await findAsset("prometheus", { env, platform: linux })).toBeUndefined();
    expect(await findAsset("etcd", { env, platform: linux }), "must be exactly our version").toBeUndefined();
    expect(await builds(home)).toEqual([]);
  });

  it("a system package will do, none is there → built like the others, without the clouds", async () => {
    const home = await createAssetHome();
    await installFakeGo(home, { build: `printf '#!/bin/sh\\necho "%s"\\n' "$flags" > "$output"` });
    const env = { ...home.env, PATH: home.bin };
    const { prometheus } = await resolveAssets(["prometheus"], offline(home, { env }));
    expect(prometheus).toBe(path.join(home.cache, "linux-amd64/prometheus-v3.13.5/prometheus"));
    expect(await readFile(prometheus, "utf8")).toContain("-tags=remove_all_sd");
  });

  it("a file in the cache that may not be executed → made again", async () => {
    const home = await createAssetHome();
    await installFakeGo(home);
    await mkdir(path.dirname(path.join(home.cache, cachedEtcd)), { recursive: true });
    await writeFile(path.join(home.cache, cachedEtcd), "", { mode: 0o644 });
    await resolveAssets(["etcd"], offline(home));
    expect(await builds(home)).toEqual(["etcd"]);
  });

  it("nothing anywhere, Go on the path → built once, then from the cache", async () => {
    const home = await createAssetHome();
    await installFakeGo(home);
    const lines: string[] = [];
    const options = offline(home, { progress: (line) => lines.push(line) });
    const first = await resolveAssets(["etcd", "kubectl"], options);
    expect(first).toEqual({ etcd: path.join(home.cache, cachedEtcd), kubectl: path.join(home.cache, cachedKubectl) });
    expect((await stat(first.etcd)).mode & 0o777).toBe(0o755);
    expect(lines.join("\n")).toMatch(/Building etcd v3\.6\.16[^\n]*…\n.*done in \d+ s/);
    expect(await resolveAssets(["etcd", "kubectl"], options)).toEqual(first);
    expect(await builds(home)).toEqual(["etcd", "kubectl"]);
    expect(await cachedFiles(home)).toEqual([cachedEtcd, cachedKubectl]);
  });
});

describe("the download", () => {
  it("a bare binary with the published digest → cached, Go is not asked", async () => {
    const home = await createAssetHome();
    const server = await startDownloadServer({
      [kubectlPath]: binary,
      [`${kubectlPath}.sha512`]: digestOf("sha512", binary),
    });
    const paths = await resolveAssets(["kubectl"], { env: home.env, platform: linux, hosts: server.hosts });
    expect(await readFile(paths.kubectl, "utf8")).toBe(binary);
    expect(await cachedFiles(home)).toEqual([cachedKubectl]);
  });

  it("an archive with the published digest → its member is cached", async () => {
    const home = await createAssetHome();
    const archive = await tarOf(home, "etcd-v3.6.16-linux-amd64/etcd", "echo etcd");
    const server = await startDownloadServer({
      "/etcd/v3.6.16/SHA256SUMS": `${digestOf("sha256", archive)}  etcd-v3.6.16-linux-amd64.tar.gz\n`,
      "/etcd/v3.6.16/etcd-v3.6.16-linux-amd64.tar.gz": archive,
    });
    const paths = await resolveAssets(["etcd"], { env: home.env, platform: linux, hosts: server.hosts });
    expect(await readFile(paths.etcd, "utf8")).toContain("echo etcd");
    expect(await cachedFiles(home)).toEqual([cachedEtcd]);
  });

  it("a file with another digest → not used, the message says so, nothing is left", async () => {
    const home = await createAssetHome();
    const digest = digestOf("sha512", "what was published");
    const server = await startDownloadServer({ [kubectlPath]: binary, [`${kubectlPath}.sha512`]: digest });
    const options = { env: home.env, platform: linux, hosts: server.hosts, build: false };
    await expect(resolveAssets(["kubectl"], options)).rejects.toThrow(`but ${digest} is published`);
    expect(await cachedFiles(home)).toEqual([]);
  });

  it.each(["CUT", "HANG"])("an answer that does not end well (%s) → an error in time, nothing is left", async (how) => {
    const home = await createAssetHome();
    const digest = digestOf("sha512", binary);
    const server = await startDownloadServer({ [kubectlPath]: how, [`${kubectlPath}.sha512`]: digest });
    const options = { env: home.env, platform: linux, hosts: server.hosts, build: false, timeouts: { idleMs: 500 } };
    await expect(resolveAssets(["kubectl"], options)).rejects.toMatchObject({ name: "AssetError" });
    expect(await cachedFiles(home)).toEqual([]);
  });

  it("no host listens → each host is tried once, then built", async () => {
    const home = await createAssetHome();
    await installFakeGo(home);
    const server = await startDownloadServer({});
    const dead = "http://127.0.0.1:1";
    const lines: string[] = [];
    const progress = (line: string) => lines.push(line);
    const hosts = { ...server.hosts, kubernetes: dead };
    await resolveAssets(["kube-apiserver", "kubectl"], { env: home.env, platform: linux, hosts, progress });
    expect(await builds(home)).toEqual(["kube-apiserver", "kubectl"]);
    expect(lines.filter((line) => line.includes("127.0.0.1:1 cannot be reached"))).toHaveLength(1);
  });
});

describe("what is missing", () => {
  it("no way works → names the binary, each way tried and each way out", async () => {
    const home = await createAssetHome();
    const server = await startDownloadServer({});
    const error = await resolveAssets(["kube-apiserver"], {
      env: { ...home.env, PATH: home.bin },
      platform: linux,
      hosts: server.hosts,
    }).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).toMatchObject({ name: "AssetError", reason: "GoMissing" });
    for (const words of [
      "kube-apiserver v1.35.4 is missing",
      `${kubectlPath.replace("kubectl", "kube-apiserver")}.sha512 answered 404`,
      "No working Go on the path",
      "set KUBEBUILDER_ASSETS",
      "let this machine reach the official downloads",
      `install Go ${requiredGoVersion} or later`,
      "npm run assets",
    ]) {
      expect(error?.message).toContain(words);
    }
  });

  it("Go is too old → says which is there and which is needed", async () => {
    const home = await createAssetHome();
    await installFakeGo(home, { version: "go1.25.3" });
    await expect(resolveAssets(["etcd"], offline(home))).rejects.toMatchObject({
      reason: "GoTooOld",
      message: expect.stringContaining(`The Go on the path is go1.25.3; ${requiredGoVersion} or later is needed`),
    });
  });

  it("the build fails → the compiler's words, nothing is left", async () => {
    const home = await createAssetHome();
    await installFakeGo(home, { build: `echo half > "$output"; echo 'cannot find module' >&2; exit 1` });
    await expect(resolveAssets(["etcd"], offline(home))).rejects.toMatchObject({
      reason: "BuildFailed",
      message: expect.stringContaining("cannot find module"),
    });
    expect(await cachedFiles(home)).toEqual([]);
  });

  it("the cache cannot be written → says which and what to set", async () => {
    const home = await createAssetHome();
    const file = path.join(home.directory, "file");
    await writeFile(file, "");
    const options = offline(home, { env: { ...home.env, XDG_CACHE_HOME: file } });
    await expect(resolveAssets(["etcd"], options)).rejects.toMatchObject({
      reason: "CacheNotWritable",
      message: expect.stringMatching(/Cannot write to the cache .*XDG_CACHE_HOME/),
    });
  });
});

describe("the modules that are built", () => {
  it.each([
    ["kubernetes", "k8s.io/kubernetes", assetTable["kube-apiserver"].version],
    ["etcd", "go.etcd.io/etcd/server/v3", assetTable.etcd.version],
    ["prometheus", "github.com/prometheus/prometheus", assetTable.prometheus.version.replace("v3.", "v0.3")],
    ["alertmanager", "github.com/prometheus/alertmanager", assetTable.alertmanager.version],
  ])("go/%s/go.mod → pins %s to the version of the table, and a Go we ask for", async (name, module, version) => {
    const goMod = await readFile(new URL(`../../../tools/assets/go/${name}/go.mod`, import.meta.url), "utf8");
    expect(goMod).toContain(`${module} ${version} `);
    const goLine = /^go (\S+)$/m.exec(goMod)?.[1] ?? "";
    expect(goLine.localeCompare(requiredGoVersion, "en", { numeric: true })).toBeLessThanOrEqual(0);
  });
});
