/** The step in which a pull request gets a copy of the database that runs. */
import { Application } from "../scene/application.ts";
import { project, secondsSince } from "../scene/names.ts";
import type { Step } from "../scene/story.ts";
import { read, words } from "./connect.ts";

const count = "SELECT count(*) || ' row' FROM greeting";

/** The sandbox must run computes, and an application must have written to the database. */
export const preview: Step = {
  title: "A pull request gets a copy of the database, and leaves nothing behind",
  async play(story) {
    const { shell } = story;
    shell.say("An administrator grants the namespace branches of the branch orders, and nothing else:");
    await shell.run("kubectl apply -k deploy/samples/previews/grant");
    const startMs = performance.now();
    await shell.run("kubectl apply -f deploy/samples/previews/database.yaml");
    const all = "dbb/orders cpe/orders dba/orders-app";
    await shell.run(`kubectl -n preview wait --for=condition=Ready ${all} --timeout=60s`);
    shell.say(`A branch, its compute, and a Secret with a password of its own (${secondsSince(startMs)}).`);
    const [copy, original] = [new Application(story, "preview"), new Application(story)];
    for (const application of [copy, original]) await application.mountSecret();
    try {
      shell.say("The application of the preview sees the rows of its parent, and writes its own:");
      copy.start();
      await copy.ask("host", read, words);
      await copy.ask("host", "INSERT INTO greeting VALUES ('from a preview') RETURNING text", "from a preview");
      await copy.ask("host", count, "2 row");
      shell.say("The parent does not see them:");
      original.start();
      await original.ask("host", count, "1 row");
    } finally {
      for (const each of [copy, original]) each.stop();
    }
    await shell.run("kubectl -n preview delete dba,cpe,dbb --all");
    const names = await shell.run(`curl -sf ${project}/branches | grep -o '"name":"[^"]*"'`);
    if (names.includes("preview/")) throw new Error("the branch is still there");
    return "it had the parent's rows, a password of its own, and no way to write to the parent";
  },
};
