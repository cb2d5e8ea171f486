/**
 * How many codes by text message anybody may have sent: limits of the number, of the network and of the organization.
 * A text message costs money, also one to a number abroad, so beyond the limits nothing is sent.
 *
 * Guarantee: strangers who ask for codes do not use up the turn of a user in a network from which the user has signed in
 * lately, which has a count of its own and a part of the day of the organization (messages/mail/text-cap.ts). From all
 * other networks, whoever asks beyond the limits may enter the code that was sent last: it went to the phone of the
 * user, who alone reads it.
 */
import type { User } from '../../directory/users/store.ts';
import { takeTextOfOrg } from '../../messages/mail/text-cap.ts';
import type { Config } from '../../platform/config.ts';
import { discount, takeWithin } from '../../platform/db/counts.ts';
import type { Db } from '../../platform/db/pool.ts';
import { e164 } from '../../platform/phone.ts';
import { isKnownNetwork } from '../mail-code/limits.ts';

const HOUR_MS = 60 * 60_000;

/** Codes to one number in an hour, from all networks. */
const MOST_OF_NUMBER = 5;
/**
 * Codes to one number in a day, also those that somebody signed in with: who is paid for messages to their number could
 * otherwise ask for the next one as soon as they have entered the last.
 */
const MOST_OF_DAY = 30;
const DAY_MS = 24 * HOUR_MS;
/** Codes in an hour that one network may have sent, to whatever numbers. */
const MOST_OF_NETWORK = 30;

const KEYS = {
  known: (userId: string) => `text codes of ${userId} in known networks`,
  knownOfDay: (userId: string) => `text codes of ${userId} in known networks in a day`,
  number: (phone: string) => `text codes to ${e164(phone) ?? phone}`,
  numberOfDay: (phone: string) => `text codes to ${e164(phone) ?? phone} in a day`,
  network: (network: string) => `text codes asked in ${network}`,
};

/**
 * Whether another code may be sent, which then counts.
 * @param network key of the user and the network (`userKeys`), and the network
 */
export async function allowsText(
  db: Db,
  config: Pick<Config, 'SMS_PER_DAY'>,
  { id, orgId, phone }: Pick<User, 'id' | 'orgId'> & { phone: string },
  network: { ofUser: string; any: string },
): Promise<boolean> {
  if (await isKnownNetwork(db, id, network.ofUser)) {
    return (
      (await takeWithin(db, KEYS.known(id), MOST_OF_NUMBER, HOUR_MS)) &&
      (await takeWithin(db, KEYS.knownOfDay(id), MOST_OF_DAY, DAY_MS)) &&
      takeTextOfOrg(db, config, { orgId })
    );
  }
  return (
    (await takeWithin(db, KEYS.number(phone), MOST_OF_NUMBER, HOUR_MS)) &&
    (await takeWithin(db, KEYS.numberOfDay(phone), MOST_OF_DAY, DAY_MS)) &&
    (await takeWithin(db, KEYS.network(network.any), MOST_OF_NETWORK, HOUR_MS)) &&
    takeTextOfOrg(db, config, { orgId, byStranger: true })
  );
}

/** Whether another code may be sent to the number for a program, which then counts as of a network that nobody knows. */
export async function allowsTextOfProgram(
  db: Db,
  config: Pick<Config, 'SMS_PER_DAY'>,
  { orgId, phone }: Pick<User, 'orgId'> & { phone: string },
): Promise<boolean> {
  return (
    (await takeWithin(db, KEYS.number(phone), MOST_OF_NUMBER, HOUR_MS)) &&
    (await takeWithin(db, KEYS.numberOfDay(phone), MOST_OF_DAY, DAY_MS)) &&
    takeTextOfOrg(db, config, { orgId, byStranger: true })
  );
}

/** The user has signed in with a code: the code that they asked for does not count for their hour; it stays paid. */
export async function forgetText(db: Db, { id, phone }: Pick<User, 'id' | 'phone'>): Promise<void> {
  await discount(db, KEYS.known(id));
  if (phone !== null) await discount(db, KEYS.number(phone));
}
