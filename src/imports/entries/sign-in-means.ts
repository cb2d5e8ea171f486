/**
 * What decides in the settings of the service how users sign in: the RP id of passkeys, and whether there is a gateway
 * for text messages. They are settings of every session of the database, so a statement reads them where it needs them.
 */
import type { Config } from '../../platform/config.ts';
import { type RelyingPartyConfig, relyingParty } from '../../platform/relying-party.ts';

/** The session settings of a process's pools. */
export function signInMeans(config: RelyingPartyConfig & Pick<Config, 'SMS_URL'>): Record<string, string> {
  return {
    'muster.rp_id': relyingParty(config)?.rpId ?? '',
    'muster.text_messages': config.SMS_URL === undefined ? 'off' : 'on',
  };
}

/** SQL: the RP id of passkeys; null: no browser has passkeys here. */
export const RP_ID = `nullif(current_setting('muster.rp_id', true), '')`;

/** SQL: whether text messages can be sent. */
export const HAS_GATEWAY = `coalesce(current_setting('muster.text_messages', true) = 'on', false)`;
