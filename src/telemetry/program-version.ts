/** The version that the bundler puts into the bundle; not defined when the sources run without a bundle. */
declare const ENDPOINT_OPERATOR_VERSION: string | undefined;

/** The version in package.json of the running bundle, or `0.0.0-source` outside a bundle. */
export const programVersion: string =
  typeof ENDPOINT_OPERATOR_VERSION === "string" ? ENDPOINT_OPERATOR_VERSION : "0.0.0-source";
