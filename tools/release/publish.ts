import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { runCommand } from "../assets/run-command.ts";
import type { BuiltImage } from "../image/build-image.ts";
import { findCosign } from "./cosign.ts";
import type { Release } from "./release.ts";

/** Signs the pushed image by its digest, with the identity of the workflow. @throws CommandError */
export async function signImage(image: BuiltImage, registry: string, progress: ProgressSink): Promise<void> {
  const reference = `${registry}/${image.name}@${image.digest}`;
  const cosign = await findCosign(progress);
  await withProgress(progress, `Signing ${reference}`, async () => {
    await cosign(["sign", reference]);
    await cosign(["attest", "--type=cyclonedx", `--predicate=${image.sbom}`, reference]);
  });
}

/** Pushes the chart packages to a registry. @throws CommandError */
export async function publishCharts({ artifacts }: Release, registry: string, progress: ProgressSink): Promise<void> {
  const { helm } = await resolveAssets(["helm"], { progress });
  for (const file of artifacts.filter((artifact) => artifact.endsWith(".tgz")))
    await withProgress(progress, `Pushing ${file}`, () =>
      runCommand({ command: helm, args: ["push", file, `oci://${registry}/charts`] }),
    );
}
