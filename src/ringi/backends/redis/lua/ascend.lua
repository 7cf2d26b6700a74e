-- Read some lists as of one moment, each from its first member up. KEYS: lists. ARGV: how many of each, first, last …
local found = {}
for n = 2, #ARGV, 2 do
  found[#found + 1] = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[n], ARGV[n + 1], 'LIMIT', 0, ARGV[1])
end
return found
