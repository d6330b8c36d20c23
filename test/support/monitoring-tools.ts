/** Finds Prometheus, promtool and Alertmanager, or skips the test. */
import { type AssetName, assetTable } from "../../tools/assets/asset-table.ts";
import { findAsset } from "../../tools/assets/resolve-assets.ts";

type MonitoringTool = Extract<AssetName, "prometheus" | "promtool" | "alertmanager">;

/**
 * Returns the path of a program of the Prometheus family. Without it the test is skipped, and the reason says what to
 * do.
 * @param context the running test or hook.
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
