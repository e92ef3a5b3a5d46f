/** The session: who is signed in, and what they may do. */
import { computed, signal } from "../lib.js";
import { csrf, get, onSignedOut, onStaleToken, post, remove } from "./api.js";

/** The answer of `/v1/session`; null before it is known. @type {import("../lib.js").Signal<any>} */
export const session = signal(null);

/** Whether a sign-in is needed. */
export const isSignedOut = signal(false);

export const user = computed(() => session.value?.user ?? null);
export const hasAccounts = computed(() => (session.value?.auth ?? "none") !== "none");

onSignedOut(() => { if (session.value) isSignedOut.value = true; });

onStaleToken(async () => {
  const answer = await get("/v1/session");
  const isSame = answer.user?.name === user.value?.name; // another person must not send the changes of this page
  take(answer);
  return isSame;
});

/** Store who is signed in. */
export async function loadSession() {
  try {
    take(await get("/v1/session"));
  } catch (error) {
    if (error.status !== 401) throw error;
    session.value = { user: null, auth: "password" };
    isSignedOut.value = true;
  }
}

/** @param {string} name @param {string} password */
export async function signIn(name, password) {
  take(await post("/v1/session", { name, password }));
}

export async function signOut() {
  await remove("/v1/session");
  csrf.value = "";
  session.value = { user: null, auth: "password" };
  isSignedOut.value = true;
}

function take(answer) {
  csrf.value = answer.csrf ?? "";
  session.value = answer;
  isSignedOut.value = answer.auth !== "none" && !answer.user;
}
