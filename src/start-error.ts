/**
 * An error whose message is a sentence for the person who starts the program: what is wrong and what to do.
 * Process entries print that sentence alone; every other error is a defect and is logged with its stack.
 */
export class StartError extends Error {}
