/**
 * The host name that all endpoints of a region share: `aws-us-east-2` → `us-east-2.aws.<suffix>`. An endpoint's own is
 * `<endpoint id>.` before it.
 */
export function regionHost(regionId: string, suffix: string): string {
  const [cloud = "", ...region] = regionId.split("-");
  return `${region.join("-")}.${cloud}.${suffix}`;
}
