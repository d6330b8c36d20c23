/** How the page looks, light and dark. Every pair of colours has a contrast of at least 4.5 to 1. */
export const pageStyle = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f7f9, #14161a);
  --card: light-dark(#ffffff, #1c1f25);
  --line: light-dark(#dfe3e8, #333842);
  --text: light-dark(#1b1f24, #e8eaee);
  --soft: light-dark(#59626e, #a4adb9);
  --link: light-dark(#0b57a4, #8fc2ff);
  --good: light-dark(#0d6b38, #7fdca4);
  --good-ground: light-dark(#e1f4e8, #14321f);
  --bad: light-dark(#a8201a, #ffaaa3);
  --bad-ground: light-dark(#fdeae8, #43191a);
  --busy: light-dark(#0b57a4, #9fcbff);
  --busy-ground: light-dark(#e3effc, #142c46);
  --quiet-ground: light-dark(#edf0f3, #2a2f37);
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 4px; }
main:focus { outline: none; }
.skip { position: absolute; left: 1rem; top: -4rem; padding: .5rem 1rem; background: var(--card); z-index: 1; }
.skip:focus { top: .5rem; }
.silence { margin: 0; padding: .6rem 1.5rem; background: var(--bad-ground); color: var(--bad); font-weight: 600; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 2rem; padding: .8rem 1.5rem;
  background: var(--card); border-bottom: 1px solid var(--line); }
h1 { margin: 0; font-size: 1.15rem; }
h1 a { color: inherit; text-decoration: none; }
dl { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: 0; flex: 1; }
dl div { display: flex; gap: .4rem; }
dt { color: var(--soft); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--soft); border-radius: 6px;
  padding: .3rem .8rem; cursor: pointer; }
button[aria-pressed="true"] { background: var(--busy-ground); color: var(--busy); border-color: currentcolor; }
.columns { display: grid; grid-template-columns: 14.5rem minmax(0, 1fr); gap: 1.5rem; padding: 1.5rem; max-width: 100rem;
  margin: 0 auto; }
nav h2 { margin: 0 0 .5rem; font-size: .85rem; color: var(--soft); text-transform: uppercase; letter-spacing: .05em; }
nav ul { list-style: none; margin: 0; padding: 0; display: grid; gap: .25rem; }
nav a { display: block; padding: .5rem .75rem; border-radius: 8px; color: inherit; text-decoration: none;
  border-left: 4px solid transparent; }
nav a:hover { background: var(--quiet-ground); }
nav a[aria-current] { background: var(--card); border-left-color: var(--link);
  box-shadow: 0 0 0 1px var(--line); }
.name { font-weight: 600; overflow-wrap: anywhere; }
.id { display: block; color: var(--soft); font: .8rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
code { font: .85rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
main h2 { margin: 0; font-size: 1.5rem; overflow-wrap: anywhere; }
.about { margin: .1rem 0 0; color: var(--soft); }
.summary { margin: .5rem 0 0; font-weight: 600; }
section { margin-top: 1.5rem; }
h3 { margin: 0 0 .5rem; font-size: 1.05rem; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .55rem .7rem; text-align: left; vertical-align: top; font-weight: normal; }
thead th { color: var(--soft); font-size: .8rem; font-weight: 600; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
tbody + tbody, tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody th[scope="row"] { font: .85rem/1.75 ui-monospace, monospace; white-space: nowrap; }
tbody th[scope="rowgroup"] { min-width: 12rem; }
td, td code, th .id { white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
time { font-variant-numeric: tabular-nums; }
.none { color: var(--soft); }
.error { display: block; color: var(--bad); white-space: normal; overflow-wrap: anywhere; min-width: 22ch; max-width: 40ch; }
.badge { display: inline-block; padding: 0 .6rem; border-radius: 999px; font-size: .8rem; font-weight: 600;
  line-height: 1.5rem; background: var(--quiet-ground); color: var(--text); }
.badge.good { background: var(--good-ground); color: var(--good); }
.badge.bad { background: var(--bad-ground); color: var(--bad); }
.badge.busy { background: var(--busy-ground); color: var(--busy); }
.pages { display: flex; gap: 1.5rem; }
@media (max-width: 60rem) {
  .columns { grid-template-columns: minmax(0, 1fr); padding: 1rem; }
  nav ul { grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); }
}
@media (forced-colors: active) { .badge { border: 1px solid; } }
`;

/** The page's icon. */
export const pageIcon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0b57a4"/><circle cx="8" cy="8" r="4" fill="none" stroke="#fff" stroke-width="2"/></svg>`;
