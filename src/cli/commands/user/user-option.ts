/** The user that a command is about. */
export const USER = { type: 'string', demandOption: true, describe: 'id or login name' } as const;
