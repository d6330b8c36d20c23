/** Finds out whether a host is this machine or on its link. */

/**
 * Whether the host is this machine, or has an address that routers do not forward. Some services at such addresses have no
 * password. Names are not resolved. Pure.
 * @param name a host name, or an address as `URL` normalizes it, without a dot at its end
 */
export function isNearbyHost(name: string): boolean {
  const mapped = /^\[::ffff:([0-9a-f]{1,4}):[0-9a-f]{1,4}\]$/.exec(name)?.[1];
  const high = mapped === undefined ? undefined : Number.parseInt(mapped, 16);
  const ipv4 = high === undefined ? name : `${high >> 8}.${high & 255}.0.0`;
  return (
    /^(.+\.)?localhost$/.test(name) ||
    /^(0|127)\.\d+\.\d+\.\d+$/.test(ipv4) ||
    /^169\.254\.\d+\.\d+$/.test(ipv4) ||
    /^\[(::1?\]|fe[89ab][0-9a-f]:)/.test(name)
  );
}
