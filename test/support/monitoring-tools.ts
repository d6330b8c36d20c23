import { type AssetName, assetTable } from "../../tools/assets/asset-table.ts";
import { findAsset } from "../../tools/assets/resolve-assets.ts";

type MonitoringTool = Extract<AssetName, "prometheus" | "promtool" | "alertmanager">;

/**
 * Where a program of the Prometheus family is. A test without it is skipped, and the reason says what helps.
 *
 * @param context of the running test or hook.
 */
export async function monitoringTool(
  name: MonitoringTool,
  context: { skip(note: string): never | undefined },
): Promise<string> {
  const file = await findAsset(name);
  if (file !== undefined) return file;
  const remedy = assetTable[name].systemPackage?.install;
  context.skip(`there is no ${name}; install it with: ${remedy} (or: npm run assets -- --with ${name})`);
  throw new Error("a skipped test goes no further");
}
