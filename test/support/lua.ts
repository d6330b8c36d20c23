/** Runs Lua scripts in tests, as Argo CD does. */
// fengari is one CommonJS object; its types are not published.
// @ts-expect-error
import fengari from "fengari";

const { lua, lauxlib, lualib, to_luastring, to_jsstring } = fengari;

/** A value that Lua and JSON both have. */
export type LuaValue = undefined | boolean | number | string | LuaValue[] | { [key: string]: LuaValue };

/**
 * Runs a script as Argo CD does. The object is the global `obj`. The script has only Lua's base functions, `table` and
 * a small `os`.
 * @returns what the script returns. A table whose keys are 1 to n becomes an array.
 * @throws Error with Lua's message
 */
export function runLua(script: string, object: unknown): LuaValue {
  const state = lauxlib.luaL_newstate();
  for (const [name, open] of [
    ["_G", lualib.luaopen_base],
    ["table", lualib.luaopen_table],
    ["os", lualib.luaopen_os],
  ] as const) {
    lauxlib.luaL_requiref(state, to_luastring(name), open, 1);
    lua.lua_pop(state, 1);
  }
  push(state, object);
  lua.lua_setglobal(state, to_luastring("obj"));
  const isLoaded = lauxlib.luaL_loadstring(state, to_luastring(script)) === lua.LUA_OK;
  if (!isLoaded || lua.lua_pcall(state, 0, 1, 0) !== lua.LUA_OK)
    throw new Error(to_jsstring(lua.lua_tostring(state, -1)));
  return pop(state);
}

function push(state: unknown, value: unknown): void {
  if (value === undefined || value === null) lua.lua_pushnil(state);
  else if (typeof value === "boolean") lua.lua_pushboolean(state, value);
  else if (typeof value === "number") lua.lua_pushnumber(state, value);
  else if (typeof value === "string") lua.lua_pushstring(state, to_luastring(value));
  else {
    lua.lua_newtable(state);
    for (const [key, item] of Object.entries(value as object)) {
      push(state, Array.isArray(value) ? Number(key) + 1 : key);
      push(state, item);
      lua.lua_settable(state, -3);
    }
  }
}

/** Removes the value on top of the stack, and returns it. */
function pop(state: unknown): LuaValue {
  const value = read(state);
  lua.lua_pop(state, 1);
  return value;
}

function read(state: unknown): LuaValue {
  switch (lua.lua_type(state, -1)) {
    case lua.LUA_TBOOLEAN:
      return lua.lua_toboolean(state, -1);
    case lua.LUA_TNUMBER:
      return lua.lua_tonumber(state, -1);
    case lua.LUA_TSTRING:
      return to_jsstring(lua.lua_tostring(state, -1));
    case lua.LUA_TTABLE:
      return readTable(state);
    default:
      return undefined;
  }
}

function readTable(state: unknown): LuaValue {
  const entries: [string, LuaValue][] = [];
  lua.lua_pushnil(state);
  while (lua.lua_next(state, -2) !== 0) {
    const value = pop(state);
    lua.lua_pushvalue(state, -1);
    entries.push([String(pop(state)), value]);
  }
  const isList = entries.length > 0 && entries.every(([key], index) => Number(key) === index + 1);
  return isList ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}
