// A server-sent event stream that finds its way back. The browser's own reconnecting gives up on an HTTP error and asks
// again from the address it was opened with; here the address is made anew each time, so output goes on at the next line.
// While the tab is hidden the stream is closed: a browser allows six connections to a server, and tabs are many.
import { silent, slept, source as liveSource } from "./live.js";

const first = 1000;
const most = 15000;
const quiet = 11000; // ms without a word, in which the server sends two beats: then the connection is dead without having said so

export function stream({ address, events, onReturn }) {
  const live = liveSource(quiet);
  let source = null;
  let timer = 0;
  let wait = first;
  let ended = false;
  let silence = 0;
  let at; // when it was opened, or the last word came

  const close = () => {
    clearTimeout(timer);
    clearTimeout(silence);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    if (ended || document.hidden) return;
    at = Date.now();
    source = new EventSource(address());
    silence = setTimeout(fail, quiet, silent); // a frozen server, or a way on which all is lost, takes a call and says nothing
    source.onopen = () => {
      if (wait > first) onReturn?.();
      wait = first;
      heard();
    };
    source.onerror = () => fail();
    source.addEventListener("beat", heard);
    for (const [name, handle] of Object.entries(events)) {
      source.addEventListener(name, (event) => {
        heard();
        handle(event);
      });
    }
  };
  const heard = () => {
    clearTimeout(silence);
    if (ended) return;
    at = Date.now();
    silence = setTimeout(fail, quiet, silent);
    live.answered();
  };
  const fail = async (why) => {
    close();
    if (slept(at, quiet)) {
      wait = 2 * first; // so that it counts as a return
      return open();
    }
    live.missed(why);
    timer = setTimeout(open, wait);
    wait = Math.min(wait * 2, most);
    // The browser does not say why a stream could not be opened.
    const status = await fetch(address(), { headers: { Accept: "text/event-stream" }, signal: AbortSignal.timeout(most) }).then((answer) => (answer.body?.cancel(), answer.status), () => 0);
    if (!ended) live.over(status);
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
      live.close();
      document.removeEventListener("visibilitychange", visibility);
    },
  };
}
