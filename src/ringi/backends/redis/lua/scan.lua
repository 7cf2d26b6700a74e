-- Read parts of some lists as of one moment. KEYS: lists. ARGV: command, how many of each, from, to …
local found = {}
for n = 3, #ARGV, 2 do
  found[#found + 1] = redis.call(ARGV[1], KEYS[1], ARGV[n], ARGV[n + 1], 'LIMIT', 0, ARGV[2])
end
return found
