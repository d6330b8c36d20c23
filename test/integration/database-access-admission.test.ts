/** Tests that the API server and the operator's schema refuse the same specs of DatabaseAccesses. */
import { beforeAll, describe, expect, test } from "vitest";
import { parseDatabaseAccess } from "../../src/resource/database-access.ts";
import { authorityKeys, bindingKeys } from "../../src/resource/database-access-schema.ts";
import { databaseAccessNames } from "../../src/resource/names.ts";
import { Admission, type AdmissionCases, apiVersion } from "../support/admission.ts";
import { adminKubectl } from "../support/api-server.ts";

const base = { endpointRef: { name: "orders" }, database: { name: "shop" }, role: { name: "shop_app" } };
const ref = { name: "given", key: "password" };
const extra = (extraKeys: unknown) => ({ ...base, secret: { extraKeys } });
const template = (text: unknown) => extra({ DATABASE_URL: text });

const valid: AdmissionCases["valid"] = [
  ["the least", base],
  [
    "policies",
    {
      ...base,
      database: { name: "Shop-1", policy: "MustExist", deletionPolicy: "Delete" },
      role: { name: "_app", policy: "CreateIfAbsent", deletionPolicy: "Retain" },
    },
  ],
  ["a password of a person", { ...base, password: { secretRef: ref } }],
  ["the shortest rotation", { ...base, password: { rotateAfterSeconds: 60 } }],
  ["a Secret of another name", { ...base, secret: { name: "shop.db-1", includeReplicas: true } }],
  ["each placeholder", template(bindingKeys.map((key) => `\${${key}}`).join(" "))],
  ["dollar signs that are no placeholder", template("$ $a $1$")],
  ["labels and annotations", { ...base, secret: { labels: { "a.b/c": "" }, annotations: { "a.b/c-d": "any text" } } }],
  ["a template of several lines", template(`a\n\${uri}\n`)],
];

const invalid: AdmissionCases["invalid"] = [
  ["a database of PostgreSQL", { ...base, database: { name: "template0" } }, /template0 and template1/],
  ["a role of PostgreSQL", { ...base, role: { name: "pg_monitor" } }, /begin with pg_/],
  ["everyone", { ...base, role: { name: "public" } }, /public, none/],
  [
    "a rotation of a person's password",
    { ...base, password: { secretRef: ref, rotateAfterSeconds: 60 } },
    /rotateAfterSeconds is not allowed with secretRef/,
  ],
  ["an unknown placeholder", template(`\${pasword}`), /a template must contain only these placeholders/],
  ["an open placeholder", template(`\${uri`), /a template must contain only these placeholders/],
  ["a key of the binding", extra({ uri: `\${host}` }), /not allowed as an extra key/],
  ["a key of the certificate authority", extra({ "ca.crt": "x" }), /not allowed as an extra key/],
  ["a key with a slash", extra({ "a/b": "x" }), /an extra key must consist of/],
  ["a key that no Secret can have", extra({ "..data": "x" }), /begin with '\.\.' are not allowed/],
  ["a label with a blank", { ...base, secret: { labels: { "a b": "x" } } }, /a name must be a valid name of a label/],
  ["a label value with a blank", { ...base, secret: { labels: { team: "a b" } } }, /team/],
  [
    "a password in its own Secret",
    { ...base, password: { secretRef: { name: "tried", key: "k" } } },
    /Secret of this res/,
    "ApiServer",
  ],
  [
    "a password in its own Secret of another name",
    { ...base, password: { secretRef: ref }, secret: { name: "given" } },
    /must not name the Secret of this resource/,
    "ApiServer",
  ],
  ["an unknown field", { ...base, owner: "me" }, /unknown field "spec.owner"/],
];

const { kind, plural } = databaseAccessNames;
const admission = await Admission.open({ kind, plural, parse: parseDatabaseAccess }, "access-admission");
const { namespace } = admission;

const smile = "\u{1f600}";

/** Returns specs with values at and near each bound. */
function edgeCases(): readonly object[] {
  const sizes = [62, 63, 64].map((length) => "a".repeat(length));
  const words = ["", "-", "_", "a-", "A1", "a b", "a\n", "é", smile, "pg_", "Pg_a", "none", "template1", 7, null];
  const objects = [...sizes, ...words].flatMap((name) => [
    { database: { name } },
    { role: { name } },
    { database: { name: "shop", policy: name } },
  ]);
  const long = [253, 254].flatMap((length) => ["n", smile].map((letter) => letter.repeat(length)));
  const texts = [...long, "", "A", "a.b", "-a", "a-", "a\n", smile, 7, null];
  const names = texts.flatMap((name) => [
    { endpointRef: { name } },
    { secret: { name } },
    { password: { secretRef: { name, key: "k" } } },
    { password: { secretRef: { name: "n", key: name } } },
    { secret: { extraKeys: { [String(name)]: "x" } } },
  ]);
  const keys = [
    ".",
    "..",
    "..a",
    ".a",
    "a..",
    "a/b",
    "/a",
    "a/",
    "A.b/c",
    "a.b/C_d",
    "a.b/-c",
    "a".repeat(64),
    `a/${"b".repeat(64)}`,
  ];
  const metadata = keys.flatMap((key) => [
    { secret: { extraKeys: { [key]: "x" } } },
    { secret: { labels: { [key]: "x" } } },
    { secret: { annotations: { [key]: "x" } } },
    { secret: { labels: { key } } },
  ]);
  const passwords = [undefined, null, ref, {}].flatMap((secretRef) =>
    [undefined, null, 59, 60, 60.5, 315_360_000, 315_360_001, "60"].map((rotateAfterSeconds) => ({
      password: { secretRef, rotateAfterSeconds },
    })),
  );
  const reserved = [...bindingKeys, ...authorityKeys].map((key) => ({ secret: { extraKeys: { [key]: "x" } } }));
  const templates = [
    ...[
      "",
      "$",
      "$$",
      `$\${uri}`,
      `\${}`,
      `\${uri}}`,
      `\${ uri}`,
      `\${URI}`,
      "$ {uri}",
      "{uri}",
      "$\n{uri}",
      "a\r\n",
      "é",
    ],
    ...[1024, 1025].flatMap((length) => ["v", smile].map((letter) => letter.repeat(length))),
    ...[7, null, {}],
  ].map((text) => ({ secret: { extraKeys: { own: text } } }));
  const many = [50, 51].map((count) => ({
    secret: { extraKeys: Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, "x"])) },
  }));
  const others = [null, true, "no", 1, {}, []].flatMap((value) => [
    ...["endpointRef", "database", "role", "password", "secret"].map((field) => ({ [field]: value })),
    { secret: { includeReplicas: value } },
    { secret: { extraKeys: value } },
  ]);
  return [...objects, ...names, ...metadata, ...passwords, ...reserved, ...templates, ...many, ...others].map(
    (part) => ({
      ...base,
      ...part,
    }),
  );
}

admission.defineTests({ valid, invalid, edgeCases: edgeCases() });

describe("a stored DatabaseAccess", () => {
  const patch = (spec: object) => {
    const words = ["patch", "databaseaccess", "kept", "--type=merge", "-p", JSON.stringify({ spec })];
    return adminKubectl().tryRun(["-n", namespace, ...words]);
  };
  beforeAll(async () => {
    const manifest = { apiVersion, kind: "DatabaseAccess", metadata: { name: "kept", namespace }, spec: base };
    await adminKubectl().run(["create", "-f", "-"], { stdin: JSON.stringify(manifest) });
  });

  test.each([
    ["endpointRef", { endpointRef: { name: "billing" } }],
    ["database.name", { database: { name: "other" } }],
    ["role.name", { role: { name: "other" } }],
    ["secret.name", { secret: { name: "other" } }],
  ])("%s cannot be changed", async (field, spec) => {
    expect((await patch(spec)).stderr).toContain(`${field} cannot be changed`);
  });

  test("all other fields can be changed", async () => {
    const changed = { role: { deletionPolicy: "Retain" }, secret: { includeReplicas: true } };
    expect(await patch(changed)).toMatchObject({ code: 0 });
  });
});
