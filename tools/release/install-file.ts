/** Makes `install.yaml`: CRDs and operator in one file, for clusters without Helm. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { ProgressSink } from "../assets/progress.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { runCommand } from "../assets/run-command.ts";

/** What the file is made from. */
export interface InstallFileOptions {
  readonly root: string;
  readonly file: string;
  /** The image with its tag or digest. */
  readonly image: string;
  readonly progress: ProgressSink;
  readonly signal?: AbortSignal | undefined;
}

const head = `# endpoint-operator: the CRDs and the operator. Before you apply it, set CONTROL_PLANE_URL in the ConfigMap below.
# After that, create the Secret with the API key, for which the pods wait:
#
#   kubectl -n endpoint-operator-system create secret generic control-plane-api-key --from-file=api-key=FILE
#
# To remove the operator, do not delete with this file: with the CRDs every resource would go. See docs/upgrades.md.
`;

/** Writes what `kubectl apply -k crds` and `kubectl apply -k deploy/base` would apply. @throws AssetError, CommandError */
export async function writeInstallFile({ root, file, image, progress, signal }: InstallFileOptions): Promise<void> {
  const { kubectl } = await resolveAssets(["kubectl"], { progress, signal });
  const kustomize = (folder: string) =>
    runCommand({ command: kubectl, args: ["kustomize", path.join(root, folder)], signal });
  const operator = (await kustomize("deploy/base")).replace(/(?<= image: ).*$/m, image);
  await writeFile(file, `${head}---\n${await kustomize("crds")}---\n${operator}`);
}
