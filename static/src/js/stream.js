// A server-sent event stream that finds its way back. The browser's own reconnecting gives up on an HTTP error and asks
// again from the address it was opened with; here the address is made anew each time, so output goes on at the next line.
// While the tab is hidden the stream is closed: a browser allows six connections to a server, and tabs are many.
const first = 1000;
const most = 15000;

export function stream({ address, events, onState, onReturn }) {
  let source = null;
  let timer = 0;
  let wait = first;
  let ended = false;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    if (ended || document.hidden) return;
    source = new EventSource(address());
    source.onopen = () => {
      if (wait > first) onReturn?.();
      wait = first;
      onState("live");
    };
    source.onerror = () => {
      close();
      onState("lost");
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, most);
    };
    for (const [name, handle] of Object.entries(events)) source.addEventListener(name, handle);
  };
  const visibility = () => {
    if (document.hidden) {
      close();
    } else if (!source) {
      onReturn?.();
      open();
    }
  };
  document.addEventListener("visibilitychange", visibility);
  open();
  return {
    end() {
      ended = true;
      close();
      document.removeEventListener("visibilitychange", visibility);
    },
  };
}

// The mark that says whether the page is live; both texts stand in its attributes.
export function markState(mark, state) {
  if (!mark) return;
  mark.classList.toggle("lost", state === "lost");
  const text = mark.querySelector("[data-state-text]");
  if (text) text.textContent = mark.dataset[state] ?? "";
}
