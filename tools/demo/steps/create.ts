import { inNamespace, operationColumns, samples } from "../names.ts";
import { kubectl, secondsSince } from "../narrate.ts";
import { isSettled } from "../row-checks.ts";
import type { Step } from "../story.ts";
import { RowWatch } from "../watch-rows.ts";

/** `kubectl apply` to a running endpoint. */
export const create: Step = {
  title: "An endpoint comes up",
  async play(story) {
    const watch = new RowWatch(story, operationColumns("--watch"));
    const startMs = performance.now();
    await kubectl(story, ["apply", "-f", samples.namespaceFile, "-f", samples.primaryFile]);
    await watch.show("orders is Ready, its start_compute seen in flight", (rows) =>
      isSettled(rows, samples.primary, "start_compute"),
    );
    story.terminal.success(`Ready in ${secondsSince(startMs)}; start_compute was seen in flight`);
    await kubectl(story, inNamespace("get", "cpe"));
  },
};
