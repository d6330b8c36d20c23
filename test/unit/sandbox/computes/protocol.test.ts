/** Tests PostgreSQL's protocol: messages and first packets, and the settings of a server. */
import { describe, expect, test } from "vitest";
import { serverSettings } from "../../../../src/sandbox/computes/postgres/server-settings.ts";
import { MessageReader, message } from "../../../../src/sandbox/computes/protocol/messages.ts";
import { readFirstPacket, startupPacket } from "../../../../src/sandbox/computes/protocol/startup.ts";
import { endpointOfOptions, endpointOfPassword } from "../../../../src/sandbox/computes/proxy/endpoint-name.ts";

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
});

describe("the endpoint that a client names", () => {
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
