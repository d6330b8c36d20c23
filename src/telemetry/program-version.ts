/** Put in by the bundler; not there when the sources run as they are. */
declare const ENDPOINT_OPERATOR_VERSION: string | undefined;

/** The version in package.json of the bundle that runs, or `0.0.0-source` outside a bundle. */
export const programVersion: string =
  typeof ENDPOINT_OPERATOR_VERSION === "string" ? ENDPOINT_OPERATOR_VERSION : "0.0.0-source";
