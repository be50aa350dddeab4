// Passkeys: the browser makes and shows them. A form carries the question in an attribute and the answer in a field. The pages with such a form load
// this after app.js, whose forms put a sending off.
const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const ids = (list) => (list ?? []).map((one) => ({ ...one, id: bytes(one.id) }));

async function make(options) {
  const publicKey = {
    ...options, challenge: bytes(options.challenge), user: { ...options.user, id: bytes(options.user.id) }, excludeCredentials: ids(options.excludeCredentials),
  };
  const made = await navigator.credentials.create({ publicKey });
  return {
    id: made.id, rawId: text(made.rawId), type: made.type, clientExtensionResults: made.getClientExtensionResults(),
    response: {
      clientDataJSON: text(made.response.clientDataJSON), attestationObject: text(made.response.attestationObject), transports: made.response.getTransports?.() ?? [],
    },
  };
}

async function show(options) {
  const publicKey = { ...options, challenge: bytes(options.challenge), allowCredentials: ids(options.allowCredentials) };
  const shown = await navigator.credentials.get({ publicKey });
  const { clientDataJSON, authenticatorData, signature, userHandle } = shown.response;
  return {
    id: shown.id, rawId: text(shown.rawId), type: shown.type, clientExtensionResults: shown.getClientExtensionResults(),
    response: {
      clientDataJSON: text(clientDataJSON), authenticatorData: text(authenticatorData), signature: text(signature), ...(userHandle && { userHandle: text(userHandle) }),
    },
  };
}

const asking = new WeakSet(); // a question is answered once
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-passkey-new], [data-passkey-show]");
  const answer = form?.querySelector("[name=credential]");
  // A form whose sending was put off is sent once more when the server has answered, and asks then.
  if (!form || answer.value || event.defaultPrevented) return;
  event.preventDefault();
  if (asking.has(form)) return;
  asking.add(form);
  const problem = form.querySelector("[data-passkey-error]");
  problem.textContent = "";
  try {
    const { passkeyNew, passkeyShow } = form.dataset;
    answer.value = JSON.stringify(passkeyNew ? await make(JSON.parse(passkeyNew)) : await show(JSON.parse(passkeyShow)));
    form.submit();
  } catch (error) {
    // The device says so of a passkey that is among those that are left out.
    problem.textContent = (error.name === "InvalidStateError" && problem.dataset.passkeyKnown) || problem.dataset.passkeyError;
  }
  asking.delete(form);
});
