/** The user that a command acts on. */
export const USER = { type: 'string', demandOption: true, describe: 'id or login name' } as const;
