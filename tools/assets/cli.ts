// Finds or makes the binaries for demo and tests, and prints their paths: `npm run assets`.
import { parseArgs } from "node:util";
import { runTool, UsageError } from "../process/command-line.ts";
import { AssetError } from "./asset-error.ts";
import { type AssetName, apiServerAssets, assetNames } from "./asset-table.ts";
import { resolveAssets } from "./resolve-assets.ts";

const usage = `Usage: npm run assets -- [--with NAME]... [--all] [--no-download] [--no-build]

Finds or makes ${apiServerAssets.join(", ")} and prints their paths.
  --with NAME     another one as well: ${assetNames.filter((name) => !apiServerAssets.includes(name)).join(", ")}
  --all           all of them
  --no-download   do not try the official downloads
  --no-build      do not build from Go modules`;

function isAssetName(name: string): name is AssetName {
  return (assetNames as readonly string[]).includes(name);
}

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      with: { type: "string", multiple: true, default: [] },
      all: { type: "boolean", default: false },
      download: { type: "boolean", default: true },
      build: { type: "boolean", default: true },
    },
  });
  const unknown = values.with.find((name) => !isAssetName(name));
  if (unknown !== undefined) throw new UsageError(`Unknown binary: ${unknown}`);
  const names = values.all ? assetNames : [...new Set([...apiServerAssets, ...values.with.filter(isAssetName)])];
  const { download, build } = values;
  const paths = await resolveAssets(names, { progress: (line) => console.error(line), download, build, signal });
  for (const name of names) console.log(`${name} ${paths[name]}`);
  return 0;
}

await runTool({ usage, main, expected: [AssetError] });
