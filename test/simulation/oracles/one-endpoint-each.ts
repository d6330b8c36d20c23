import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/** S2: at most one live endpoint per resource uid, and no POST without a stored intent. */
export function oneEndpointEach(world: World): Oracle {
  return {
    onServiceCall({ call, creator }) {
      if (call.method === "POST" && creator.by === "Operator" && creator.uid === "") {
        world.violate("S2", "a POST was sent under a name whose token stands in no stored intent");
      }
    },
    onServiceApplied({ creator }) {
      if (creator.by !== "Operator" || creator.uid === "") return;
      const { uid } = creator;
      const own = world.endpoints().filter(({ id }) => {
        const made = world.service.creators.get(id);
        return made?.by === "Operator" && made.uid === uid;
      });
      if (own.length > 1) world.violate("S2", `${own.length} live endpoints were made for one resource`);
    },
  };
}
