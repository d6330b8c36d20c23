/** Looks up host names, and leaves out addresses of this machine and link. */
import { lookup as systemLookup } from "node:dns";
import { isIPv6, type LookupFunction } from "node:net";
import { isNearbyHost } from "../domain/nearby-host.ts";

/** Every address of a host name is on this machine or link. */
class NearbyAddressError extends Error {
  override readonly name = "NearbyAddressError";
  readonly code = "ERR_NEARBY_ADDRESS";
}

/**
 * Makes the lookup of connections that must not reach this machine or link. Each new connection looks its host up, and uses
 * only the addresses that were checked. Errors: `ERR_NEARBY_ADDRESS` if no other address is left.
 * @param resolve the lookup of the system; tests pass another one
 */
export function farLookup(resolve: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const far = addresses.filter(({ address }) => !isNearbyHost(hostOf(address)));
      const [first] = far;
      if (first === undefined) {
        callback(new NearbyAddressError("every address of the host is on this machine or link"), []);
      } else if (options.all === true) {
        callback(null, far);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}

/** Returns an address as `URL` normalizes it. */
function hostOf(address: string): string {
  const plain = address.replace(/%.*$/, "");
  return isIPv6(plain) ? new URL(`http://[${plain}]`).hostname : plain;
}
