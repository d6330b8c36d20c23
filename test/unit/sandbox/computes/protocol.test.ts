/** Tests PostgreSQL's protocol: messages, first packets and SCRAM. */
import { createHmac, pbkdf2Sync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { serverSettings } from "../../../../src/sandbox/computes/postgres/server-settings.ts";
import {
  fatalError,
  MessageReader,
  message,
  readErrorFields,
} from "../../../../src/sandbox/computes/protocol/messages.ts";
import {
  isPassword,
  makeVerifier,
  parseVerifier,
  ScramExchange,
  verifierText,
} from "../../../../src/sandbox/computes/protocol/scram.ts";
import { readFirstPacket, startupPacket } from "../../../../src/sandbox/computes/protocol/startup.ts";
import {
  endpointOfOptions,
  endpointOfPassword,
  endpointOfServerName,
} from "../../../../src/sandbox/computes/proxy/endpoint-name.ts";

describe("messages", () => {
  test("two messages in pieces of one byte → both, whole", () => {
    const bytes = Buffer.concat([message("Z", Buffer.from("I")), message("D", Buffer.from("abc"))]);
    const reader = new MessageReader(100);
    const found = [...bytes].flatMap((byte) => reader.push(Buffer.from([byte])));
    expect(found.map(({ type, body }) => `${type} ${body}`)).toEqual(["Z I", "D abc"]);
  });

  test("a message longer than the limit → refused from its length, before it has arrived", () => {
    expect(() => new MessageReader(100).push(Buffer.from([0x44, 0, 0, 1, 0]))).toThrow("a message has 257 bytes");
  });

  test("an error → its fields are read back", () => {
    const bytes = fatalError({ code: "08004", message: "no endpoint", hint: "add one" });
    expect(readErrorFields(bytes.subarray(5))).toEqual({
      severity: "FATAL",
      code: "08004",
      message: "no endpoint",
      hint: "add one",
    });
  });
});

describe("the first packet", () => {
  test("a startup message → its parameters, in pieces too", () => {
    const parameters = new Map([
      ["user", "u"],
      ["options", "-c a=b"],
    ]);
    const bytes = startupPacket({ version: 3 << 16, parameters });
    expect(readFirstPacket(bytes.subarray(0, bytes.length - 1))).toBeUndefined();
    const found = readFirstPacket(Buffer.concat([bytes, Buffer.from("more")]));
    expect(found).toEqual({
      packet: { kind: "Startup", startup: { version: 3 << 16, parameters } },
      length: bytes.length,
    });
  });

  test.each([
    ["an HTTP request", Buffer.from("GET / HTTP/1.1\r\n")],
    ["a length below 8", Buffer.from([0, 0, 0, 4, 0, 0, 0, 0])],
    ["protocol 2", Buffer.from([0, 0, 0, 8, 0, 2, 0, 0])],
  ])("%s → refused", (_name, bytes) => {
    expect(() => readFirstPacket(bytes)).toThrow();
  });
});

describe("the endpoint that a client names", () => {
  test.each<[string | false, unknown]>([
    ["ep-a.us-east-2.aws.sandbox.localhost", { endpointId: "ep-a", isPooled: false }],
    ["ep-a-pooler.us-east-2.aws.sandbox.localhost", { endpointId: "ep-a", isPooled: true }],
    ["localhost", undefined],
    [false, undefined],
    ["", undefined],
  ])("server name %s → %o", (name, endpoint) => {
    expect(endpointOfServerName(name)).toEqual(endpoint);
  });

  test.each([
    ["endpoint=ep-a", { endpoint: { endpointId: "ep-a", isPooled: false }, options: undefined }],
    [
      "-c a=b endpoint=ep-a-pooler -c c=d",
      { endpoint: { endpointId: "ep-a", isPooled: true }, options: "-c a=b -c c=d" },
    ],
    ["-c search_path=x\\ y", { endpoint: undefined, options: "-c search_path=x\\ y" }],
    [undefined, { endpoint: undefined, options: undefined }],
  ])("options %s → %o", (options, found) => {
    expect(endpointOfOptions(options)).toEqual(found);
  });

  test.each([
    ["endpoint=ep-a;se;cret", { endpoint: { endpointId: "ep-a", isPooled: false }, password: "se;cret" }],
    ["endpoint=ep-a$secret", { endpoint: { endpointId: "ep-a", isPooled: false }, password: "secret" }],
    ["secret", undefined],
  ])("password %s → %o", (password, found) => {
    expect(endpointOfPassword(password)).toEqual(found);
  });
});

describe("SCRAM", () => {
  const endPoint = Buffer.alloc(32, 7);

  /**
   * The client's side of SCRAM.
   * @see RFC 5802
   */
  async function proveBy(password: string, method: "SCRAM-SHA-256" | "SCRAM-SHA-256-PLUS", bound = endPoint) {
    const exchange = new ScramExchange(await makeVerifier("right"), method, endPoint);
    const header = method === "SCRAM-SHA-256" ? "n,," : "p=tls-server-end-point,,";
    const bare = "n=,r=abc";
    const serverFirst = exchange.begin(`${header}${bare}`);
    const [, nonce = "", salt = "", iterations] = /^r=(.*),s=(.*),i=(.*)$/.exec(serverFirst) ?? [];
    const salted = pbkdf2Sync(password, Buffer.from(salt, "base64"), Number(iterations), 32, "sha256");
    const hmac = (key: Buffer, text: string) => createHmac("sha256", key).update(text).digest();
    const clientKey = hmac(salted, "Client Key");
    const { storedKey } = (await makeVerifier(password, Buffer.from(salt, "base64"))) as { storedKey: Buffer };
    const channel = Buffer.concat([Buffer.from(header), method === "SCRAM-SHA-256" ? Buffer.alloc(0) : bound]);
    const final = `c=${channel.toString("base64")},r=${nonce}`;
    const signature = hmac(storedKey, `${bare},${serverFirst},${final}`);
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] as number)));
    const serverKey = hmac(salted, "Server Key");
    const expected = `v=${hmac(serverKey, `${bare},${serverFirst},${final}`).toString("base64")}`;
    return { expected, answer: () => exchange.finish(`${final},p=${proof.toString("base64")}`) };
  }

  test.each(["SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"] as const)(
    "%s, the right password → the server proves itself too",
    async (method) => {
      const { expected, answer } = await proveBy("right", method);
      expect(answer()).toBe(expected);
    },
  );

  test("a wrong password, another certificate → refused", async () => {
    const wrong = await proveBy("wrong", "SCRAM-SHA-256");
    expect(wrong.answer).toThrow("wrong password");
    const other = await proveBy("right", "SCRAM-SHA-256-PLUS", Buffer.alloc(32, 8));
    expect(other.answer).toThrow("channel binding check failed");
  });

  test("a verifier → the same after it was written and read", async () => {
    const verifier = await makeVerifier("right");
    expect(parseVerifier(verifierText(verifier))).toEqual(verifier);
    expect(await isPassword("right", verifier)).toBe(true);
    expect(await isPassword("wrong", verifier)).toBe(false);
    expect(parseVerifier("md5abc")).toBeUndefined();
  });
});

describe("settings of a server", () => {
  const needs = {
    maxConnections: 112,
    pgSettings: { work_mem: "1MB", "my.text": "it's \\ here" },
    socketDirectory: "/tmp/s",
    primarySocketDirectory: undefined,
    isTemporary: false,
  };

  test("settings of the control plane and of the user → both are written with quotes", () => {
    const text = serverSettings(needs);
    expect(text).toContain("max_connections = '112'\n");
    expect(text).toContain("shared_buffers = '128MB'\n");
    expect(text).toContain("my.text = 'it''s \\\\ here'\n");
    expect(text).not.toContain("fsync");
    expect(text).not.toContain("primary_conninfo");
  });
});
