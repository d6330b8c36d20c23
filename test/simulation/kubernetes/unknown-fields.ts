/** Removes fields that a version does not know. */
import { isObject } from "./merge-patch.ts";

/**
 * Returns an object, or a list of objects, without the members at some paths: `status.acknowledged.operationIds`.
 * @returns the same value if there is nothing to remove
 */
export function withoutFields<Value>(value: Value, paths: readonly string[]): Value {
  if (paths.length === 0 || !isObject(value)) return value;
  if (Array.isArray(value.items)) return { ...value, items: value.items.map((item) => withoutFields(item, paths)) };
  return paths.reduce<Value>((rest, path) => withoutMember(rest, path.split(".")), value);
}

function withoutMember<Value>(value: Value, [name = "", ...below]: readonly string[]): Value {
  if (!isObject(value) || value[name] === undefined) return value;
  const { [name]: member, ...rest } = value;
  return (below.length === 0 ? rest : { ...rest, [name]: withoutMember(member, below) }) as Value;
}
