/** Makes what users install: the Helm charts, and `install.yaml` for clusters without Helm. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { runCommand } from "../assets/run-command.ts";
import { chartFolders } from "../charts/chart-files.ts";
import type { BasesOptions } from "../image/bases.ts";
import { packFiles } from "../image/same-bytes.ts";

/** Packs the charts like Helm. The same files give the same bytes. @param packages one for each folder of a chart */
export async function packCharts(root: string, packages: readonly string[], epochSeconds: number): Promise<void> {
  for (const [index, file] of packages.entries()) {
    const how = ["--mode=a=rX,u+w", "--use-compress-program=gzip --no-name"];
    const folder = path.basename(chartFolders[index] ?? "");
    await packFiles(file, epochSeconds, [...how, "--directory", path.join(root, "charts"), folder]);
  }
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
