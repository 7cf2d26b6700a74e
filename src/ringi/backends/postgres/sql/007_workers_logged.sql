-- A crash must not make agents unknown until their workers announce them again.
ALTER TABLE workers SET LOGGED;
