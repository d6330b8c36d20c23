/** Sends requests. */
import type { Dispatcher } from "undici";

/** Sends one request. @returns the body of the answer. @throws Error for an answer that is not 2xx */
export async function send(server: Dispatcher, request: Dispatcher.RequestOptions): Promise<string> {
  const answer = await server.request(request);
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${request.method} ${request.path}: ${answer.statusCode} ${text}`);
  return text;
}

/** Works on every item in their order, at most `atOnce` at the same time. It ends with the first failure. */
export async function inParallel<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
