/** The style sheet and the icon of the pages. */

/** The style sheet of the page, light and dark. Every pair of colours has a contrast of at least 4.5 to 1. */
export const pageStyle = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f5f6f8, #111316);
  --card: light-dark(#ffffff, #1a1d22);
  --raised: light-dark(#ffffff, #23272e);
  --line: light-dark(#e2e5ea, #2c313a);
  --edge: light-dark(#c6ccd5, #434a56);
  --text: light-dark(#171b21, #e9ebef);
  --soft: light-dark(#5a6370, #a2abb8);
  --link: light-dark(#0a5bb0, #8cc0ff);
  --accent: light-dark(#0a5bb0, #1f6dc2);
  --on-accent: #ffffff;
  --good: light-dark(#0b6a37, #7edba3);
  --good-ground: light-dark(#e2f5e9, #15321f);
  --bad: light-dark(#a51f19, #ffaaa3);
  --bad-ground: light-dark(#fdeae8, #42191a);
  --busy: light-dark(#0a559f, #9fcbff);
  --busy-ground: light-dark(#e4effc, #152c46);
  --warn: light-dark(#7a4a00, #f3c476);
  --warn-ground: light-dark(#fdf1dc, #3a2a10);
  --quiet-ground: light-dark(#eceff3, #2a2f37);
  --radius: 10px;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 4rem; }
body { margin: 0; background: var(--ground); color: var(--text); font: 14.5px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
a { color: var(--link); text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 6px; }
main:focus { outline: none; }
code, pre, .id { font-family: var(--mono); font-size: .86em; }
h2 { margin: 0; font-size: 1.35rem; line-height: 1.3; letter-spacing: -.01em; overflow-wrap: anywhere; }
h3 { margin: 0 0 .6rem; font-size: 1rem; }
p { margin: 0; }
ul { list-style: none; margin: 0; padding: 0; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: 1rem; top: -4rem; padding: .5rem 1rem; background: var(--card); border-radius: 8px; z-index: 9; }
.skip:focus { top: .5rem; }
.no-script button, .no-script #live { display: none; }

header { position: sticky; top: 0; z-index: 5; display: flex; align-items: center; gap: .5rem 1.5rem; padding: 0 1.5rem; min-height: 3.5rem;
  background: var(--card); border-bottom: 1px solid var(--line); }
.brand { display: flex; align-items: center; gap: .55rem; color: inherit; text-decoration: none; font-weight: 650; font-size: 1.02rem; }
nav, nav > div { display: flex; align-items: stretch; }
nav a { display: flex; align-items: center; gap: .4rem; padding: 0 .8rem; min-height: 3.5rem; color: var(--soft); text-decoration: none; font-weight: 500;
  white-space: nowrap; border-bottom: 2px solid transparent; border-top: 2px solid transparent; }
nav a:hover { color: var(--text); }
nav a[aria-current] { color: var(--text); border-bottom-color: var(--accent); }
.count { min-width: 1.3rem; padding: 0 .35rem; border-radius: 99px; background: var(--warn-ground); color: var(--warn); font-size: .75rem; text-align: center; }
.search { flex: 1; display: flex; justify-content: flex-end; min-width: 10rem; }
.search input[type="search"] { width: min(22rem, 100%); }

input, select { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--edge); border-radius: 8px; padding: .38rem .65rem; min-width: 0; width: 100%; }
input::placeholder { color: var(--soft); opacity: 1; }
button, .button { display: inline-flex; align-items: center; font: inherit; font-size: .84rem; font-weight: 500; line-height: 1.4; color: var(--text); background: var(--raised);
  border: 1px solid var(--edge); border-radius: 8px; padding: .22rem .6rem; cursor: pointer; text-decoration: none; white-space: nowrap; }
button:hover:not(:disabled), .button:hover { background: var(--quiet-ground); }
button:disabled { color: var(--soft); border-color: var(--line); background: transparent; cursor: not-allowed; }
button[aria-pressed="true"] { background: var(--busy-ground); color: var(--busy); border-color: currentcolor; }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); padding: .4rem .9rem; }
button.primary:hover { filter: brightness(1.08); background: var(--accent); }
button.danger { color: var(--bad); }
td button { padding: .18rem .5rem; font-size: .8rem; }
button.copy { border: 0; background: none; padding: .1rem .3rem; vertical-align: middle; color: var(--soft); opacity: .65; }
button.copy::before { content: ""; width: .8rem; height: .8rem; border: 1.5px solid currentcolor; border-radius: 3px; box-shadow: 3px -3px 0 -1px var(--card), 3px -3px 0 .2px currentcolor; transform: scale(.72); }
button.copy:hover, button.copy:focus-visible { color: var(--link); opacity: 1; }
button.link { border: 0; background: none; padding: .1rem .4rem; font-size: .78rem; color: var(--link); }
.group { display: flex; flex-wrap: wrap; gap: .35rem; }

.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding: .55rem 1.5rem; border-bottom: 1px solid var(--line); font-size: .9rem; }
.bar > div { display: flex; flex-wrap: wrap; gap: .35rem 1rem; }
.fact { color: var(--soft); white-space: nowrap; font-variant-numeric: tabular-nums; }
.fact b { color: var(--text); font-weight: 600; }
.fact b.stepped { color: var(--warn); }
#now { color: var(--text); }
.end { margin-left: auto; }
.menu { position: relative; }
.menu summary { list-style: none; }
.menu summary::-webkit-details-marker { display: none; }
.menu summary::after { content: "▾"; margin-left: .4rem; color: var(--soft); }
.menu > div { position: absolute; right: 0; top: calc(100% + .35rem); z-index: 6; display: grid; gap: .2rem; min-width: 12rem; padding: .4rem; background: var(--raised);
  border: 1px solid var(--edge); border-radius: 10px; box-shadow: 0 8px 28px #0003; }
.menu > div > * { border-color: transparent; justify-content: flex-start; padding: .4rem .6rem; }
.no-script .menu { display: none; }
.banner { padding: .6rem 1.5rem; background: var(--bad-ground); color: var(--bad); font-weight: 600; }

.columns { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 1.75rem; padding: 1.5rem; max-width: 96rem; margin: 0 auto; }
.page { padding: 1.5rem; max-width: 96rem; margin: 0 auto; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 2rem; align-items: start; }
.two section { margin: 0; }
.title { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .25rem 1.5rem; margin-bottom: .75rem; min-height: 2rem; }
aside h2 { margin: .35rem 0 .6rem .75rem; font-size: .78rem; font-weight: 600; color: var(--soft); text-transform: uppercase; letter-spacing: .06em; }
aside ul { display: grid; gap: 2px; }
aside li a { display: block; padding: .5rem .75rem; border-radius: 8px; color: inherit; text-decoration: none; }
aside li a:hover { background: var(--quiet-ground); }
aside li a[aria-current] { background: var(--card); box-shadow: 0 0 0 1px var(--line), inset 3px 0 0 var(--accent); }
.name { font-weight: 600; overflow-wrap: anywhere; }
.id { color: var(--soft); overflow-wrap: anywhere; }
aside .id { display: block; }
.head { display: grid; gap: .35rem; }
.facts { display: flex; flex-wrap: wrap; align-items: center; gap: .1rem .9rem; color: var(--soft); }
.facts code { overflow-wrap: anywhere; }
.facts .copy { margin-left: -.8rem; }
.minor { display: block; color: var(--soft); font-size: .84em; }
.summary { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem .8rem; font-weight: 500; }
section { margin-top: 1.75rem; }
.bar, .key { margin-top: 0; }
.about { color: var(--soft); }
.title + .about { margin: -.5rem 0 .9rem; }

.card { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .5rem .75rem; text-align: left; vertical-align: middle; font-weight: normal; }
th:first-child, td:first-child { padding-left: 1rem; }
th:last-child, td:last-child { padding-right: 1rem; }
thead th { color: var(--soft); font-size: .78rem; font-weight: 600; white-space: nowrap; border-bottom: 1px solid var(--line); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody td, tbody td code { white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
time, [data-since] { font-variant-numeric: tabular-nums; white-space: nowrap; }
td .group { justify-content: flex-end; }
td.actions { text-align: right; }
.tree td.actions { width: 23rem; }
.path { overflow-wrap: anywhere; min-width: 16rem; }
.none, .next { color: var(--soft); }
.next { margin-left: .5rem; font-size: .88em; }
.empty { color: var(--soft); padding: 1.1rem 1rem; }
td.empty { white-space: normal; }
.card.empty { padding: 1.5rem; display: grid; gap: .4rem; }
.card.empty h2 { color: var(--text); }
.error { display: block; color: var(--bad); white-space: normal; overflow-wrap: anywhere; max-width: 34ch; font-size: .9em; }
.tree .branch th { background: color-mix(in srgb, var(--quiet-ground) 45%, transparent); }
.tree .endpoint th .id { display: block; }
.tree .endpoint th { position: relative; white-space: nowrap; }
.tree .depth-0 th:first-child { padding-left: 1rem; }
.tree .depth-1 th:first-child { padding-left: 2.25rem; }
.tree .depth-2 th:first-child { padding-left: 3.5rem; }
.tree .depth-3 th:first-child { padding-left: 4.75rem; }
.tree .depth-4 th:first-child { padding-left: 6rem; }
.tree .depth-5 th:first-child { padding-left: 7.25rem; }
.tree .depth-6 th:first-child { padding-left: 8.5rem; }
.tree .branch:not(.depth-0) .name::before { content: "└"; margin: 0 .45rem 0 -1rem; color: var(--edge); font-weight: 400; }
.badge { display: inline-flex; gap: .35rem; padding: 0 .6rem; border-radius: 999px; font-size: .8rem; font-weight: 600; line-height: 1.5rem; white-space: nowrap;
  background: var(--quiet-ground); color: var(--text); }
.badge.good { background: var(--good-ground); color: var(--good); }
.badge.bad { background: var(--bad-ground); color: var(--bad); }
.badge.busy { background: var(--busy-ground); color: var(--busy); }
.badge.warn { background: var(--warn-ground); color: var(--warn); }
.pages { display: flex; gap: 1.5rem; margin-top: .75rem; }

.two ul { display: grid; gap: .6rem; }
.item { display: flex; align-items: center; justify-content: space-between; gap: 1rem; padding: .8rem 1rem; }
.item > div:first-child { min-width: 0; }
.form { display: grid; grid-template-columns: 1fr 1fr; gap: .8rem 1rem; padding: 1.1rem 1rem; margin-top: 1rem; }
.form h3, .form .wide { grid-column: 1 / -1; margin: 0; }
.form label { display: grid; gap: .25rem; align-content: end; font-size: .86rem; color: var(--soft); }
.form label input, .form label select { color: var(--text); font-size: .92rem; }
.form button { grid-column: 1 / -1; justify-self: start; }
.no-script .form { display: none; }

.key { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .75rem 2rem; padding: 1rem; }
.snippets { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(32rem, 100%), 1fr)); gap: 1rem; margin: 1rem 0; }
.snippet { margin: 0; min-width: 0; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); overflow: hidden; display: grid; grid-template-rows: auto 1fr; }
.snippet figcaption { display: flex; justify-content: space-between; align-items: center; gap: 1rem; padding: .5rem 1rem; font-weight: 600; font-size: .9rem; }
.snippet code { font-size: .84rem; }
.snippet pre { margin: 0; padding: .8rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--quiet-ground); line-height: 1.55; }
.toast { position: fixed; z-index: 9; bottom: 1.25rem; left: 50%; transform: translateX(-50%); max-width: calc(100vw - 2rem); padding: .6rem 1.1rem;
  border-radius: 10px; background: light-dark(#1b2027, #e9ebef); color: light-dark(#ffffff, #15181c); font-weight: 500; box-shadow: 0 6px 24px #0005; overflow-wrap: anywhere; }
.toast.bad { background: var(--bad-ground); color: var(--bad); border: 1px solid currentcolor; }

.reference { max-width: 64rem; }
.reference section h2 { margin: 2rem 0 .6rem; text-transform: capitalize; font-size: 1.1rem; }
.reference details { background: var(--card); border: 1px solid var(--line); margin-top: -1px; }
.reference details:first-of-type { border-radius: var(--radius) var(--radius) 0 0; }
.reference details:last-of-type { border-radius: 0 0 var(--radius) var(--radius); }
.reference summary { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .9rem; padding: .6rem 1rem; cursor: pointer; }
.reference summary:hover { background: var(--quiet-ground); }
.reference summary code { font-weight: 600; overflow-wrap: anywhere; }
.reference summary span { color: var(--soft); }
.reference .method { display: inline-block; min-width: 4rem; color: var(--busy); }
.reference .method.delete { color: var(--bad); }
.reference .method.post, .reference .method.put, .reference .method.patch { color: var(--good); }
.reference .inside { padding: .25rem 1rem 1rem; border-top: 1px solid var(--line); }
.reference h3 { margin: 1rem 0 .4rem; font-size: .9rem; }
.reference pre { margin: 0; padding: .8rem 1rem; overflow-x: auto; max-height: 26rem; background: var(--quiet-ground); border-radius: 8px; }
.reference td { white-space: normal; overflow-wrap: anywhere; }

@media (max-width: 78rem) { .columns { grid-template-columns: 12.5rem minmax(0, 1fr); gap: 1.25rem; padding: 1.25rem; } .page, .bar, header { padding-left: 1.25rem; padding-right: 1.25rem; } }
@media (max-width: 60rem) {
  .columns { grid-template-columns: minmax(0, 1fr); }
  aside ul { display: flex; overflow-x: auto; gap: .4rem; padding: 2px 2px .4rem; }
  aside li a { border: 1px solid var(--line); width: max-content; max-width: 12rem; }
  aside h2 { margin-left: 0; }
  .end { margin-left: 0; }
}
@media (max-width: 46rem) {
  header { position: static; flex-wrap: wrap; padding: .6rem 1rem 0; }
  nav { order: 3; width: calc(100% + 2rem); margin: 0 -1rem; padding: 0 .35rem; overflow-x: auto; }
  nav a { min-height: 2.75rem; padding: 0 .6rem; }
  .search { min-width: 0; }
  .columns, .page { padding: 1rem; }
  .bar { padding: .6rem 1rem; }
  .end { width: 100%; }
  .menu > div { right: auto; left: 0; }
  button, .button { padding: .4rem .75rem; }
  button.link { padding: .25rem .5rem; }
  thead { display: none; }
  table, tbody, tr, th, td { display: block; }
  tbody tr { padding: .7rem 1rem; }
  tbody tr + tr { border-top: 1px solid var(--line); }
  tbody tr + tr > * { border-top: 0; }
  tbody th, tbody td, tbody th:first-child, tbody td:first-child { padding: .12rem 0 !important; text-align: left; white-space: normal; }
  tbody td[data-label] { position: relative; min-height: 1.75em; padding-left: 8rem !important; }
  tbody td[data-label]::before { content: attr(data-label); position: absolute; left: 0; color: var(--soft); }
  td .group { justify-content: flex-start; margin-top: .4rem; }
  td.actions, td.number { text-align: left; }
  .tree td.actions { width: auto; }
  tbody td code { white-space: normal; overflow-wrap: anywhere; }
  .tree .branch th { background: none; }
  .tree .branch { background: color-mix(in srgb, var(--quiet-ground) 45%, transparent); }
  .tree .depth-1 { padding-left: 2rem; } .tree .depth-2 { padding-left: 2.75rem; } .tree .depth-3 { padding-left: 3.5rem; }
  .tree .depth-4 { padding-left: 4.25rem; } .tree .depth-5, .tree .depth-6 { padding-left: 5rem; }
  .path { min-width: 0; }
  .requests tr { display: flex; flex-direction: column; }
  .requests .path { order: -1; font-weight: 600; }
  .item { flex-wrap: wrap; }
  .form { grid-template-columns: 1fr; }
}
@media (forced-colors: active) { .badge { border: 1px solid; } }
`;

/** The icon of the page. */
export const pageIcon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#0a5bb0"/><path d="M6.5 9.2c0-1.5 2.5-2.7 5.5-2.7s5.5 1.2 5.5 2.7-2.500 2.7-5.500 2.700-5.500-1.200-5.500-2.700Zm0 0v5.600c0 1.500 2.500 2.700 5.500 2.700s5.500-1.200 5.500-2.700V9.200" fill="none" stroke="#fff" stroke-width="1.7"/></svg>`;
