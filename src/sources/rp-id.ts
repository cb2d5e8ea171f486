/** The host that passkeys are made for: the RP id of WebAuthn. Apart, as every command of the command line loads it. */

/** Host names, and `localhost`. */
const RP_ID = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** Whether a text can be the host that passkeys are made for (RP id). */
export function isRpId(text: string): boolean {
  return RP_ID.test(text);
}
