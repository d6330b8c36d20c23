/** Makes what users install: the Helm charts, and `install.yaml` for clusters without Helm. */
import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { resolveAssets } from "../assets/resolve-assets.ts";
import { runCommand } from "../assets/run-command.ts";
import { buildProgram } from "../build.ts";
import { chartFolders } from "../charts/chart-files.ts";
import type { BasesOptions } from "../image/bases.ts";
import { sha256Of } from "../image/oci-layout.ts";
import { packFiles } from "../image/same-bytes.ts";
import type { ReleaseFiles } from "./release-files.ts";

/** Packs the charts like Helm. The same files give the same bytes. @param packages one for each folder of a chart */
export async function packCharts(root: string, packages: readonly string[], epochSeconds: number): Promise<void> {
  for (const [index, file] of packages.entries()) {
    const folder = path.basename(chartFolders[index] ?? "");
    await packFiles(file, epochSeconds, [...smallPackage, "--directory", path.join(root, "charts"), folder]);
  }
}

const { homepage, repository } = packageJson;
const smallPackage = ["--mode=a=rX,u+w", "--use-compress-program=gzip --no-name"];

/** Packs the kubectl plugin, and writes its manifest for Krew. */
export async function writePlugin([archive, manifest]: ReleaseFiles["plugin"], { root, epochSeconds }: BasesOptions) {
  const folder = path.join(path.dirname(archive), "plugin");
  const { version } = await buildProgram(folder);
  await copyFile(path.join(root, "LICENSE"), path.join(folder, "LICENSE"));
  await packFiles(archive, epochSeconds, [...smallPackage, "--directory", folder, "."]);
  await rm(folder, { recursive: true });
  const values = { version, homepage, repository: repository.url, sha256: await sha256Of(archive) };
  const template = await readFile(path.join(root, "tools/release/krew.yaml"), "utf8");
  await writeFile(
    manifest,
    template.replace(/\{(\w+)\}/g, (_, name: keyof typeof values) => values[name]),
  );
}

const head = `# endpoint-operator: the CRDs and the operator. Before you apply it, set CONTROL_PLANE_URL in the ConfigMap below.
# After that, create the Secret with the API key, for which the pods wait:
#
#   kubectl -n endpoint-operator-system create secret generic control-plane-api-key --from-file=api-key=FILE
#
# To remove the operator, do not delete with this file: with the CRDs every resource would go. See docs/upgrades.md.
`;

/**
 * Writes what `kubectl apply -k crds` and `kubectl apply -k deploy/base` would apply. @throws AssetError, CommandError
 * @param image with its tag or digest
 */
export async function writeInstallFile(
  file: string,
  image: string,
  { root, progress, signal }: Pick<BasesOptions, "root" | "progress" | "signal">,
): Promise<void> {
  const { kubectl } = await resolveAssets(["kubectl"], { progress, signal });
  const kustomize = (folder: string) =>
    runCommand({ command: kubectl, args: ["kustomize", path.join(root, folder)], signal });
  const operator = (await kustomize("deploy/base")).replace(/(?<= image: ).*$/m, image);
  await writeFile(file, `${head}---\n${await kustomize("crds")}---\n${operator}`);
}
