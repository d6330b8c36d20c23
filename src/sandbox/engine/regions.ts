/** A place in which projects can be. */
export interface Region {
  /** `<cloud>-<region>`. */
  readonly id: string;
  readonly name: string;
  /** Degrees. */
  readonly latitude: number;
  readonly longitude: number;
}

/** The first is the one for projects that name none. */
export const regions = [
  { id: "aws-us-east-2", name: "US East (Ohio)", latitude: 40, longitude: -83 },
  { id: "aws-us-east-1", name: "US East (N. Virginia)", latitude: 39, longitude: -77 },
  { id: "aws-us-west-2", name: "US West (Oregon)", latitude: 46, longitude: -120 },
  { id: "aws-eu-central-1", name: "Europe (Frankfurt)", latitude: 50, longitude: 9 },
  { id: "aws-eu-west-2", name: "Europe (London)", latitude: 52, longitude: 0 },
  { id: "aws-ap-southeast-1", name: "Asia Pacific (Singapore)", latitude: 1, longitude: 104 },
  { id: "aws-ap-southeast-2", name: "Asia Pacific (Sydney)", latitude: -34, longitude: 151 },
  { id: "aws-sa-east-1", name: "South America (São Paulo)", latitude: -24, longitude: -47 },
] as const satisfies readonly Region[];
