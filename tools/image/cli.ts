// The command that builds the image as an OCI layout, without a Docker engine: `npm run image`.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runTool } from "../process/command-line.ts";
import { buildArm64Image } from "./arm64-image.ts";
import { type BuiltImage, buildImage } from "./build-image.ts";
import { ImageToolsMissing } from "./buildah.ts";
import { sourceDateSeconds } from "./source-date.ts";

const usage = `Usage: npm run image -- [--out FOLDER] [--target STAGE] [--name NAME] [--push REFERENCE] [--arm64] [--cache FOLDER]

Builds the image from the Dockerfile and writes it as an OCI layout, as one file, and with its SBOM.
  --out FOLDER      where to. Default: release
  --target STAGE    stage of the Dockerfile. Default: operator
  --name NAME       name of the image. Default: endpoint-operator
  --push REFERENCE  pushes it to a registry as well, for instance registry.example.com/endpoint-operator:0.1.0
  --arm64           also builds the image for arm64, as files beside the others
  --cache FOLDER    keeps base images and npm packages for the next build. It does not see updates of Debian's packages

Every file in the image has the time SOURCE_DATE_EPOCH; without this variable the time of the last commit.`;

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      out: { type: "string", default: "release" },
      target: { type: "string", default: "operator" },
      name: { type: "string", default: "endpoint-operator" },
      push: { type: "string" },
      arm64: { type: "boolean", default: false },
      cache: { type: "string" },
    },
  });
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const { target, name, push: pushTo } = values;
  const progress = (line: string) => console.log(line);
  const cache = values.cache === undefined ? undefined : path.resolve(values.cache);
  const outDir = path.resolve(values.out);
  const epochSeconds = await sourceDateSeconds(root, process.env);
  const image = await buildImage({ root, outDir, target, name, epochSeconds, pushTo, cache, progress, signal });
  print(image);
  if (values.arm64) print(await buildArm64Image({ root, outDir, image, target, epochSeconds, progress, signal }));
  return 0;
}

function print({ name, version, digest, archive, layout, sbom }: BuiltImage): void {
  console.log(`${name}:${version} ${digest}\n  ${[archive, layout, sbom].map(shown).join("\n  ")}`);
}

const shown = (file: string) => path.relative(process.cwd(), file);

await runTool({ usage, main, expected: [ImageToolsMissing] });
