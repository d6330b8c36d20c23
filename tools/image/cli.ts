// The command that builds the image as an OCI layout, without a Docker engine: `npm run image`.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { AssetError } from "../assets/asset-error.ts";
import { runTool } from "../process/command-line.ts";
import { buildImage } from "./build-image.ts";
import { sourceDateSeconds } from "./same-bytes.ts";

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
  const { out, target, name, push: pushTo, arm64 } = values;
  const images = await buildImage({
    root,
    outDir: path.resolve(out),
    target,
    name,
    pushTo,
    arm64,
    signal,
    epochSeconds: await sourceDateSeconds(root),
    cache: values.cache === undefined ? undefined : path.resolve(values.cache),
    progress: (line) => console.log(line),
  });
  for (const { title, digest, archive, layout, sbom } of images) {
    const files = [archive, layout, sbom].map((file) => path.relative(process.cwd(), file));
    console.log(`${title} ${digest}\n  ${files.join("\n  ")}`);
  }
  return 0;
}

await runTool({ usage, main, expected: [AssetError] });
