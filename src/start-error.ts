/**
 * An error with a message for the person who starts the program: what is wrong and what to do.
 * Entry points print only this message. Any other error is a bug and is logged with its stack.
 */
export class StartError extends Error {}
