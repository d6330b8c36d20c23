/** Some services at such hosts have no password. @param name as `URL` normalizes it, without a dot at its end */
export function isNearbyHost(name: string): boolean {
  const ipv4 = ipv4Within(name) ?? name;
  return (
    /^(.+\.)?localhost$/.test(name) ||
    /^(0|127)\.\d+\.\d+\.\d+$/.test(ipv4) ||
    /^169\.254\.\d+\.\d+$/.test(ipv4) ||
    /^\[(::1?\]|fe[89ab][0-9a-f]:)/.test(name) ||
    metadataServices.has(ipv4)
  );
}

/** The metadata services of Alibaba Cloud, Azure, Oracle Cloud, AWS and Google Cloud outside 169.254.0.0/16. */
const metadataServices: ReadonlySet<string> = new Set([
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "[fd00:ec2::254]",
  "[fd20:ce::254]",
  "metadata.google.internal",
]);

/** Returns the IPv4 address in an IPv6 address: `::a.b.c.d`, `::ffff:a.b.c.d` or `64:ff9b::a.b.c.d`; else `undefined`. */
function ipv4Within(name: string): string | undefined {
  const groups = /^\[(?:::(?:ffff:)?|64:ff9b::)(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})?\]$/.exec(name);
  if (groups === null) {
    return undefined;
  }
  const [high, low] = [groups[1], groups[2]].map((group) => Number.parseInt(group ?? "0", 16)) as [number, number];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
