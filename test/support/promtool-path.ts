/** Finds promtool, or skips the test. */
import { assetTable } from "../../tools/assets/asset-table.ts";
import { findAsset } from "../../tools/assets/resolve-assets.ts";

/** Without promtool the test is skipped, and the reason says what to do. @param context the running test or hook */
export async function promtoolPath(context: { skip(note: string): never | undefined }): Promise<string> {
  const file = await findAsset("promtool");
  if (file !== undefined) return file;
  const remedy = assetTable.promtool.systemPackage?.install;
  context.skip(`there is no promtool; install it with: ${remedy} (or: npm run assets -- --with promtool)`);
  throw new Error("a skipped test goes no further");
}
