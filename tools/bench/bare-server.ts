// The floor of the sandbox's benchmark: a Fastify route that returns a constant. sandbox.ts starts it as a child
// process.
import fastify from "fastify";

const app = fastify();
const constants = new Map<number, Buffer>();

/** Returns a constant text of this many bytes, encoded once. */
function constantOf(bytes: number): Buffer {
  const known = constants.get(bytes) ?? Buffer.from(JSON.stringify("x".repeat(Math.max(0, bytes - 2))));
  constants.set(bytes, known);
  return known;
}

app.get<{ Params: { bytes: string } }>("/:bytes", async (request, reply) => {
  return reply.type("application/json; charset=utf-8").send(constantOf(Number(request.params.bytes)));
});
app.post<{ Params: { bytes: string } }>("/:bytes", async (request, reply) => {
  return reply
    .code(201)
    .type("application/json; charset=utf-8")
    .send(constantOf(Number(request.params.bytes)));
});

await app.listen({ host: "127.0.0.1", port: 0 });
const address = app.server.address();
console.log(`listening on http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`);
