/** Packs the Helm charts of a release. */
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import { runCommand } from "../assets/run-command.ts";
import { chartFolders } from "../charts/chart-files.ts";

/**
 * Packs the charts like Helm. The same files give the same bytes.
 * @returns the paths of the packages.
 */
export async function packCharts(root: string, outDir: string, epochSeconds: number): Promise<readonly string[]> {
  await mkdir(outDir, { recursive: true });
  return await Promise.all(
    chartFolders.map(async (folder) => {
      const { name, version } = parse(await readFile(path.join(root, folder, "Chart.yaml"), "utf8"));
      const file = path.join(outDir, `${name}-${version}.tgz`);
      const sameBytes = ["--sort=name", `--mtime=@${epochSeconds}`, "--owner=0", "--group=0", "--numeric-owner"];
      const args = [
        ...sameBytes,
        "--mode=a=rX,u+w",
        "--use-compress-program=gzip --no-name",
        "--create",
        "--file",
        file,
      ];
      await runCommand({ command: "tar", args: [...args, "--directory", path.join(root, "charts"), name] });
      return file;
    }),
  );
}
