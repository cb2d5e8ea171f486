/**
 * Loads the mails of many jobs in one statement: jobs that start while a statement runs go into the next one.
 *
 * Guarantee: a mail is read after it was asked for. One that is asked for alone waits for nothing.
 */

import type { Db } from '../db/pool.ts';
import { type LoadedMail, loadMails, type MailPointer } from './outbox.ts';

export interface MailLoader {
  /**
   * A mail that is still to be sent; undefined when it has settled or its user was deleted.
   * @throws Error when the database refused the statement
   */
  load(id: MailPointer['id']): Promise<LoadedMail | undefined>;
}

interface Asked {
  id: string;
  resolve(mail: LoadedMail | undefined): void;
  reject(error: unknown): void;
}

export function openBatchLoader(db: Db): MailLoader {
  let asked: Asked[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    while (asked.length > 0) {
      const group = asked;
      asked = [];
      await answer(db, group);
    }
    isRunning = false;
  }

  return {
    load: (id) =>
      new Promise((resolve, reject) => {
        asked.push({ id, resolve, reject });
        if (isRunning) return;
        isRunning = true;
        setImmediate(run);
      }),
  };
}

async function answer(db: Db, group: Asked[]): Promise<void> {
  const ids = group.map(({ id }) => id);
  try {
    const mails = new Map((await loadMails(db, ids)).map((mail) => [mail.id, mail]));
    for (const { id, resolve } of group) resolve(mails.get(id));
  } catch (error) {
    for (const { reject } of group) reject(error);
  }
}
