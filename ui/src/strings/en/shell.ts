export const shell = {
  language: "en",
  inbox: "Inbox",
  threads: "Threads",
  signOut: "Sign out",
  scripted: "scripted model",
  reconnecting: "reconnecting…",
  retry: "Try again",
  back: "Back",
  more: "Show more",
  notFound: "There is no such page.",
  unreachable: "The server cannot be reached. Nothing was lost on this page: try again when it is back.",

  signInTitle: "Sign in to Ringi",
  signInHow: "Open the link that `ringi` printed in the terminal, or paste its token here.",
  signInRefused: "This link or token is not valid (any more). Take the newest one that `ringi` printed.",
  token: "Token",
  signIn: "Sign in",
};
