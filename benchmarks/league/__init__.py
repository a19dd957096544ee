"""The league: is `Transfer*CV` ever worse than the target alone, and how far is it from the best of all others?"""
