import type { Dispatcher } from "undici";
import { LeaderFenceError } from "../domain/leader-fence.ts";

type Handler = Dispatcher.DispatchHandler;

/**
 * A dispatcher that asks once more when a connection stands, right before it writes the first byte.
 *
 * Between the decision to send and that moment lie the reading of credentials and a TLS handshake. A process that was
 * stopped in there for longer than its lease must not go on with it when it wakes.
 *
 * Errors: a request that may not start any more fails with `LeaderFenceError`; nothing of it was sent.
 */
export function askingAtLast(dispatcher: Dispatcher, mayStart: () => boolean): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => dispatch(options, asking(handler, mayStart)));
}

function asking(handler: Handler, mayStart: () => boolean): Handler {
  return {
    onRequestStart(controller, context) {
      handler.onRequestStart?.(controller, context);
      if (!mayStart()) {
        controller.abort(new LeaderFenceError());
      }
    },
    onRequestUpgrade: (...details) => handler.onRequestUpgrade?.(...details),
    onResponseStart: (...details) => handler.onResponseStart?.(...details),
    onResponseData: (...details) => handler.onResponseData?.(...details),
    onResponseEnd: (...details) => handler.onResponseEnd?.(...details),
    onResponseError: (...details) => handler.onResponseError?.(...details),
  };
}
