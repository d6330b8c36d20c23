/** Lists all objects, page by page. */
import type { Clock } from "../../domain/clock.ts";
import { createCallDeadline, untilAborted } from "../../http/call-deadline.ts";
import { isTooLong } from "../http/answer-error.ts";
import { type ListPage, type ListWatch, OutOfSyncError } from "./list-watch.ts";

/** The maximum number of pages of one list; more than any cluster has. */
const maxPages = 10_000;

/** The options of a page reader. */
export interface PageReaderOptions<Resource> {
  readonly listWatch: Pick<ListWatch, "list">;
  /** Parses an object; `undefined`: the object is left out. */
  readonly parse: (stored: unknown) => Resource | undefined;
  readonly clock: Clock;
  /** The number of objects on a page at the start. */
  readonly pageLimit: number;
  /** The time limit of one page, in milliseconds. */
  readonly pageTimeoutMs: number;
  /** Called when a page has arrived. */
  readonly onPage: () => void;
}

/** All objects of a complete list, and its resourceVersion. */
export interface CompleteList<Resource> {
  readonly resources: readonly Resource[];
  readonly resourceVersion: string;
}

/**
 * Reads complete lists page by page.
 *
 * A page that is too long is requested again with half as many objects, and pages stay that small. So a few very large
 * objects do not hide all the others.
 */
export class PageReader<Resource> {
  readonly #options: PageReaderOptions<Resource>;
  #limit: number;

  constructor(options: PageReaderOptions<Resource>) {
    this.#options = options;
    this.#limit = options.pageLimit;
  }

  /** Reads all pages of one list. @throws KubernetesError, OutOfSyncError when the list has no end, GivenUpError */
  async readAll(signal: AbortSignal): Promise<CompleteList<Resource>> {
    const resources: Resource[] = [];
    let continueToken: string | undefined;
    // The resourceVersion of the first page. A watch from the version of a later page would miss changes in between.
    let resourceVersion: string | undefined;
    for (let pages = 0; pages < maxPages; pages += 1) {
      const page = await this.#readPageThatFits(continueToken, signal);
      for (const item of page.items) {
        const resource = this.#options.parse(item);
        if (resource !== undefined) {
          resources.push(resource);
        }
      }
      resourceVersion ??= page.resourceVersion;
      if (page.continueToken === undefined) {
        return { resources, resourceVersion };
      }
      if (page.continueToken === continueToken) {
        throw new OutOfSyncError("the list repeats a page");
      }
      continueToken = page.continueToken;
    }
    throw new OutOfSyncError("the list has no end");
  }

  async #readPageThatFits(continueToken: string | undefined, signal: AbortSignal): Promise<ListPage> {
    for (;;) {
      try {
        return await this.#readPage(continueToken, signal);
      } catch (error) {
        if (!isTooLong(error) || this.#limit <= 1) {
          throw error;
        }
        this.#limit = Math.floor(this.#limit / 2);
      }
    }
  }

  async #readPage(continueToken: string | undefined, signal: AbortSignal): Promise<ListPage> {
    const { clock, listWatch, pageTimeoutMs, onPage } = this.#options;
    const deadline = createCallDeadline(clock, pageTimeoutMs, [signal]);
    try {
      const page = await untilAborted(
        deadline.signal,
        listWatch.list({ limit: this.#limit, continueToken }, deadline.signal),
      );
      onPage();
      return page;
    } finally {
      deadline.end();
    }
  }
}
