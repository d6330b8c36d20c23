import { type CrdKind, commonColumns } from "./crd.ts";
import { databaseAccessSpecSchema, databaseAccessStatusSchema } from "./database-access-schema.ts";
import { databaseAccessNames } from "./names.ts";

/** What the CustomResourceDefinition of DatabaseAccess is made from. */
export const databaseAccessCrd: CrdKind = {
  ...databaseAccessNames,
  description:
    "A DatabaseAccess is the access of one application to one database through one ComputeEndpoint of its namespace. " +
    "The operator makes sure that role and database exist, and writes a Secret with everything that the application " +
    "needs to connect. It keeps the Secret up to date when the endpoint moves or the password changes.",
  spec: databaseAccessSpecSchema,
  status: databaseAccessStatusSchema,
  printerColumns: [
    { name: "Endpoint", type: "string", jsonPath: ".spec.endpointRef.name", description: "The ComputeEndpoint" },
    { name: "Database", type: "string", jsonPath: ".spec.database.name", description: "Name of the database" },
    { name: "Role", type: "string", jsonPath: ".spec.role.name", description: "Name of the role" },
    { name: "Secret", type: "string", jsonPath: ".status.binding.name", description: "The Secret to connect with" },
    ...commonColumns("Whether the Secret can be used"),
    {
      name: "Branch",
      type: "string",
      jsonPath: ".status.endpoint.branchId",
      description: "The branch that holds the database",
      priority: 1,
    },
    {
      name: "Rotated",
      type: "date",
      jsonPath: ".status.password.rotatedTime",
      description: "Time since the operator last reset the password",
      priority: 1,
    },
  ],
};
