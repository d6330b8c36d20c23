/** The account, its regions and its API keys. */
import { z } from "zod";
import { nameText } from "../../engine/records.ts";
import { branchLimits, projectLimit, type Region, regions } from "../../engine/settings.ts";
import { timeText } from "../codecs/codec.ts";
import { accountId } from "../codecs/project.ts";
import { ApiError } from "../parts/errors.ts";
import type { KeyUse } from "../parts/key-ring.ts";
import type { PublicApi } from "./public-api.ts";

export function accountRoutes(api: PublicApi): void {
  const { engine } = api.parts;
  api.play("getActiveRegions", {}, () => ({ regions: engine.regionIds().map(regionView) }));
  api.play("getCurrentUserInfo", {}, () => ({
    id: accountId,
    login: "sandbox",
    name: "Sandbox",
    last_name: "",
    email: "sandbox@example.com",
    image: "",
    plan: "paid",
    auth_accounts: [],
    active_seconds_limit: 0,
    projects_limit: projectLimit,
    branches_limit: branchLimits.paid,
    max_autoscaling_limit: Math.max(...engine.profile.sizes.scalable),
  }));
  // There are never any.
  api.play("getCurrentUserOrganizations", {}, () => ({ organizations: [] }));
  api.play("getAuthDetails", {}, () => ({ account_id: accountId, auth_method: "api_key_user" }));
}

/** Shows a region. Only the built-in regions have coordinates. */
function regionView(id: string, index: number) {
  const known: Region | undefined = regions.find((region) => region.id === id);
  return {
    region_id: id,
    name: known?.name ?? id,
    default: index === 0,
    geo_lat: String(known?.latitude ?? ""),
    geo_long: String(known?.longitude ?? ""),
  };
}

/** The account's own keys. Keys that may only read or use only one project are made at `/sandbox/v1/keys`. */
export function keyRoutes(api: PublicApi): void {
  const { keyRing } = api.parts;
  const isAccountWide = true;
  api.play("listApiKeys", { isAccountWide }, () =>
    keyRing.list().map(({ sequence: id, name, createdMs, ...key }) => {
      const created_by = { id: accountId, name: "Sandbox", image: "" };
      return { id, name, created_at: timeText(createdMs), created_by, ...useView(keyRing.lastUse(key.id)) };
    }),
  );
  api.play("createApiKey", { body: z.object({ key_name: nameText(64) }), isAccountWide }, ({ body }) => {
    const { record, key } = keyRing.create(body.key_name);
    const { sequence: id, name, createdMs } = record;
    return { id, key, name, created_at: timeText(createdMs), created_by: accountId };
  });
  api.play("revokeApiKey", { isAccountWide }, ({ ids }) => {
    if (!/^\d{1,15}$/.test(ids.keyId)) throw new ApiError(400, "key_id: must be a number");
    const key = keyRing.list().find(({ sequence }) => String(sequence) === ids.keyId);
    if (key === undefined) throw new ApiError(404, "API key not found");
    const use = useView(keyRing.lastUse(key.id));
    keyRing.revoke(key.id);
    const { sequence: id, name, createdMs } = key;
    return { id, name, created_at: timeText(createdMs), created_by: accountId, ...use, revoked: true };
  });
}

function useView(use: KeyUse | undefined) {
  return { last_used_at: use === undefined ? null : timeText(use.atMs), last_used_from_addr: use?.address ?? "" };
}
