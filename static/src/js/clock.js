// The time of the server, by which all that a page shows was drawn: the browser's own clock may be wrong, and be set while the page is open.
let ahead = 0; // ms by which it is

export const now = () => Date.now() - ahead;

// heard takes over what time the server says it is. It is as old as its way here took.
export function heard(time) {
  if (Math.abs(now() - time) > 3000) ahead = Date.now() - time;
}
heard(Date.parse(document.body.dataset.drawn) + performance.now() - performance.getEntriesByType("navigation")[0].responseStart);
