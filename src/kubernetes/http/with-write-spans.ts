/** Records each write to the API server as a span of a trace. */
import type { Tracer } from "../../domain/logger.ts";
import type { KubernetesCall, KubernetesConnection } from "./connection.ts";

/**
 * Returns a connection that records a trace span for each write, as a child of the span of its reconcile. Reads and
 * watches get no span.
 * The write of an event begins a new trace, because events are sent later than their reconcile and together with other
 * events.
 */
export function withWriteSpans(inner: KubernetesConnection, tracer: Tracer): KubernetesConnection {
  return {
    namespace: inner.namespace,
    request(call) {
      if (call.method === "GET") {
        return inner.request(call);
      }
      const onStatus = (status: number) => tracer.annotate({ "http.response.status_code": status });
      return tracer.inSpan(spanOf(call), () => inner.request({ ...call, onStatus }));
    },
    openStream: (call) => inner.openStream(call),
    close: () => inner.close(),
  };
}

const verbs = { POST: "create", PATCH: "patch", PUT: "update", DELETE: "delete", GET: "get" } as const;

/** The path of resources of a namespace: `/apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE]]`. */
const namespaced = /\/namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/;

function spanOf({ method, path }: KubernetesCall) {
  const [, namespace, resource = "unknown", name, subresource] = namespaced.exec(path) ?? [];
  const verb = verbs[method];
  return {
    name: `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`,
    kind: "Client",
    isDetached: resource === "events",
    attributes: {
      "http.request.method": method,
      "k8s.namespace.name": namespace,
      "k8s.resource": resource,
      "k8s.subresource": subresource,
      "k8s.object.name": name,
      "k8s.verb": verb,
    },
  } as const;
}
